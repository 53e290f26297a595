/* The C++ face alone, included twice, with the compiler's warnings on it. */
#include <aoe.hpp>
#include <aoe.hpp>

int main() {
    const auto missing = aoe::Graph::try_load("");
    return missing.status() == AOE_ERROR_IO && !missing.message().empty() ? 0 : 1;
}
