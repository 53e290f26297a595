#include "options.h"

#include "engine.h"
#include "memory.h"

#include <cstdlib>
#include <cstring>

namespace drop_in {

namespace {

[[noreturn]] void fail_environment(const std::string &reason) {
    throw Failure{AOE_ERROR_INVALID_OPTION_ATTR, "AOE_TUNING_OPTIONS: " + reason};
}

}  // namespace

MapAt map_at(const void *address) {
    cann::MapHeader header;
    if (!peek(address, header)) return MapAt::kNone;
    const cann::MapNode *const end = &static_cast<const cann::MapHeader *>(address)->end;
    const cann::MapNode &ends = header.end;
    if (ends.colour != cann::MapNode::kRed) return MapAt::kNone;
    if (header.count == 0) {
        const bool is_empty = ends.parent == nullptr && ends.left == end && ends.right == end;
        return is_empty ? MapAt::kEmpty : MapAt::kNone;
    }
    cann::MapNode root, first, last;
    if (!peek(ends.parent, root) || !peek(ends.left, first) || !peek(ends.right, last)) return MapAt::kNone;
    const bool is_tree = root.colour == cann::MapNode::kBlack && root.parent == end;
    return is_tree && first.left == nullptr && last.right == nullptr ? MapAt::kFilled : MapAt::kNone;
}

Options read(const cann::Options &options) {
    Options read;
    for (const auto &option : options) {
        if (option.second.text()[0] != '\0') read.emplace_back(option.first.text(), option.second.text());
    }
    return read;
}

bool has_key(const cann::Options &options, const char *key) {
    for (const auto &option : options) {
        if (std::strcmp(option.first.text(), key) == 0) return true;
    }
    return false;
}

Options read_environment() {
    Options read;
    const char *value = std::getenv("AOE_TUNING_OPTIONS");
    std::string text(value == nullptr ? "" : value);
    while (!text.empty()) {
        const std::string::size_type bars = text.find("||");
        const std::string option = text.substr(0, bars);
        const std::string::size_type equals = option.find('=');
        if (equals == std::string::npos || equals == 0) fail_environment("`" + option + "` is not of the form key=value");
        if (option.find('|') != std::string::npos) {
            fail_environment("`" + option + "` holds a single bar; options are separated by two bars");
        }
        read.emplace_back(option.substr(0, equals), option.substr(equals + 1));
        if (engine().CheckOption(read.back().first.c_str(), read.back().second.c_str()) != AOE_SUCCESS) {
            fail_environment(engine().GetLastError());
        }
        text.erase(0, bars == std::string::npos ? bars : bars + 2);
    }
    return read;
}

Options known(const Options &options) {
    Options known;
    for (const auto &option : options) {
        if (engine().CheckOption(option.first.c_str(), nullptr) == AOE_ERROR_NOT_FOUND) {
            message(AOE_LOG_WARNING, "%s; passed over", engine().GetLastError());
        } else {
            known.push_back(option);
        }
    }
    return known;
}

std::vector<AoeOption> view(const Options &options) {
    std::vector<AoeOption> view;
    view.reserve(options.size());
    for (const auto &option : options) view.push_back({option.first.c_str(), option.second.c_str()});
    return view;
}

}  // namespace drop_in
