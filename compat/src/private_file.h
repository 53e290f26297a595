// private_file.h - a file for one other function to write and for us to read.
#ifndef AOE_COMPAT_PRIVATE_FILE_H
#define AOE_COMPAT_PRIVATE_FILE_H

#include <cstddef>
#include <string>

namespace drop_in {

// The name of a file in a new directory that only this user can enter, below TMPDIR or /tmp; both are removed with
// this object.
class PrivateFile {
  public:
    // Throws Failure with AOE_ERROR_IO where no directory can be made.
    explicit PrivateFile(const char *name);
    ~PrivateFile();
    PrivateFile(const PrivateFile &) = delete;
    PrivateFile &operator=(const PrivateFile &) = delete;

    const char *path() const { return path_.c_str(); }

  private:
    std::string directory_;
    std::string path_;
};

// A file's bytes, mapped for reading.
class FileContent {
  public:
    // Throws Failure with AOE_ERROR_IO where it cannot be read.
    explicit FileContent(const char *path);
    ~FileContent();
    FileContent(const FileContent &) = delete;
    FileContent &operator=(const FileContent &) = delete;

    const void *data() const { return data_; }
    size_t size() const { return size_; }

  private:
    void *data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace drop_in

#endif
