// options.h - options as clients pass them, made into those that libaoe takes.
#ifndef AOE_COMPAT_OPTIONS_H
#define AOE_COMPAT_OPTIONS_H

#include "cann.h"
#include "failure.h"

#include <string>
#include <utility>
#include <vector>

namespace drop_in {

// Keys and values; of a key that comes twice the later counts.
using Options = std::vector<std::pair<std::string, std::string>>;

// A client's options that have a value; clients send an empty one for "not set".
Options read(const cann::Options &options);

// What lies at an address, whatever it may be: a client's map of options is one whose tree's ends point to each other
// as they must.
enum class MapAt { kNone, kEmpty, kFilled };
MapAt map_at(const void *address);

// Whether one of them has this key, with whatever value.
bool has_key(const cann::Options &options, const char *key);

// The options of the environment variable AOE_TUNING_OPTIONS: key=value, several separated by two bars.
// Throws Failure with AOE_ERROR_INVALID_OPTION_ATTR, which names the variable, for text of another form and for what
// libaoe does not take.
Options read_environment();

// Those of a client's options that libaoe has; the others are told to the log. A client may send keys that only
// other parts of CANN know.
Options known(const Options &options);

// Options in C's form; valid as long as what it was made from.
std::vector<AoeOption> view(const Options &options);

}  // namespace drop_in

#endif
