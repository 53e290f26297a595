#include "private_file.h"

#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace drop_in {

namespace {

Failure io_failure(const std::string &path) {
    return Failure{AOE_ERROR_IO, "a file for the client's graph, " + path + ": " + std::strerror(errno)};
}

int remove_entry(const char *path, const struct stat *, int, FTW *) { return std::remove(path); }

}  // namespace

PrivateFile::PrivateFile(const char *name) {
    const char *root = std::getenv("TMPDIR");
    directory_ = std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/aoe_tuning_XXXXXX";
    if (mkdtemp(&directory_[0]) == nullptr) throw io_failure(directory_);
    path_ = directory_ + "/" + name;
}

PrivateFile::~PrivateFile() {
    // The whole directory: GE may have put weights beside the file.
    enum { kOpenDirectories = 8 };
    nftw(directory_.c_str(), remove_entry, kOpenDirectories, FTW_DEPTH | FTW_PHYS);
}

FileContent::FileContent(const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    if (file < 0 || fstat(file, &info) != 0) {
        const Failure failure = io_failure(path);
        if (file >= 0) close(file);
        throw failure;
    }
    size_ = static_cast<size_t>(info.st_size);
    data_ = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data_ == MAP_FAILED) {
        const Failure failure = io_failure(path);
        close(file);
        throw failure;
    }
    close(file);
}

FileContent::~FileContent() {
    if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace drop_in
