// process.h - which process uses the tuner. A child that is forked meanwhile has copies of locks that nobody in it
// will ever release.
#ifndef AOE_COMPAT_PROCESS_H
#define AOE_COMPAT_PROCESS_H

namespace drop_in {

// The tuner in use: for the length of every call, and from AoeInitialize to AoeFinalize. It begins before any lock is
// taken and ends after the last is released.
class Use {
  public:
    // Throws Failure with AOE_ERROR_FORKED in a process that was forked while its parent used the tuner.
    Use();
    ~Use();
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
};

// Whether this process was forked while its parent used the tuner. It holds nothing of its own then.
bool is_forked_child();

}  // namespace drop_in

#endif
