// ge.h - functions of the client's own GE libraries, found in the process at run time; nothing is linked.
#ifndef AOE_COMPAT_GE_H
#define AOE_COMPAT_GE_H

#include <cstring>
#include <initializer_list>
#include <string>

namespace drop_in {

// A function of GE: how messages name it, and its symbol.
struct GeFunction {
    const char *name;
    const char *symbol;
};

// GE, for the length of one call. It is where a function is found that tells it: in the global scope, or in any library
// of the process, those that the client loaded with RTLD_LOCAL included. That library stays loaded until this object is
// gone.
class Ge {
  public:
    // Any of these functions tells GE, the first of them that there is. Throws a Failure with AOE_ERROR_INVALID_GRAPH
    // that names them where no library has one.
    explicit Ge(std::initializer_list<GeFunction> any);
    ~Ge();
    Ge(const Ge &) = delete;
    Ge &operator=(const Ge &) = delete;

    // A function that not every GE has; null where this one lacks it.
    template <typename Function>
    Function *find(const GeFunction &function) const {
        void *const address = look_up(function);
        Function *pointer = nullptr;
        std::memcpy(&pointer, &address, sizeof pointer);
        return pointer;
    }

    // Throws a Failure as the constructor does where GE lacks the function.
    template <typename Function>
    Function *require(const GeFunction &function) const {
        Function *const pointer = find<Function>(function);
        if (pointer == nullptr) fail({function});
        return pointer;
    }

  private:
    void *look_up(const GeFunction &function) const;
    [[noreturn]] static void fail(std::initializer_list<GeFunction> any);

    // The library and what it is linked with; null for the global scope.
    void *library_;
};

}  // namespace drop_in

#endif
