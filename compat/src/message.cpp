#include "message.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace drop_in {

namespace {

enum { kNone = AOE_LOG_ERROR + 1 };

void print(AoeLogLevel level, const char *text) noexcept {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    const char *to_stdout = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    std::FILE *stream = to_stdout != nullptr && std::strcmp(to_stdout, "1") == 0 ? stdout : stderr;
    const char *name = level >= AOE_LOG_DEBUG && level <= AOE_LOG_ERROR ? names[level] : "message";
    std::fprintf(stream, "[libaoe_tuning] %s: %s\n", name, text);
}

}  // namespace

AoeLogLevel message_level() {
    const char *value = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    if (value == nullptr || value[0] < '0' || value[0] > '4' || value[1] != '\0') return AOE_LOG_WARNING;
    return value[0] - '0';
}

const char *message_level_name() {
    static const char *const names[] = {"debug", "info", "warning", "error", "null"};
    static_assert(sizeof names / sizeof *names == kNone + 1, "a name for each level");
    return names[message_level()];
}

void message(AoeLogLevel level, const char *format, ...) noexcept {
    if (level < message_level()) return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print(level, text);
}

void relay_message(AoeLogLevel level, const char *text, void *) noexcept { print(level, text); }

}  // namespace drop_in
