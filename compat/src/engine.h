// engine.h - libaoe as this library uses it: an instance of its own, reached through one table of functions.
#ifndef AOE_COMPAT_ENGINE_H
#define AOE_COMPAT_ENGINE_H

#include "failure.h"

namespace drop_in {

// libaoe's functions, from libaoe_tuning_engine.so beside this library, loaded at the first call.
//
// That file is libaoe under a name of its own with AoeGetApi as its only export. So there is nothing in it that a
// libaoe which the client holds, or this library itself, could stand in for; and it is initialised and finalised
// without that other one taking notice.
//
// Throws Failure with AOE_FAILURE, naming the file, where it is missing or of another version.
const AoeApi &engine();

// Throws a Failure with libaoe's own sentence unless the status, which libaoe has just returned to this thread, is
// AOE_SUCCESS.
void require(AoeStatus status);

}  // namespace drop_in

#endif
