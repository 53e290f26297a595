// cann.h - the C++ objects that CANN's clients hand over, as far as their layout goes.
//
// Own declarations: names and layouts are those of CANN's public interface under libstdc++ on 64-bit Linux, the
// same for both values of _GLIBCXX_USE_CXX11_ABI. Objects of a client are only ever read here, never built, copied
// or destroyed; what one of the client's own libraries returns by value (TensorDesc, Shape) is destroyed as the
// shared pointer that it is.
#ifndef AOE_COMPAT_CANN_H
#define AOE_COMPAT_CANN_H

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#if !defined(__GLIBCXX__) || !defined(__LP64__)
#error "the drop-in library reads objects of libstdc++ on 64-bit platforms; build it with -stdlib=libstdc++"
#endif

namespace ge {

class Session;

// A string behind a shared pointer; without one it is empty. CANN up to 6.3.RC1 names it Aoe::AscendString.
class AscendString {
  public:
    AscendString(const AscendString &) = delete;
    AscendString &operator=(const AscendString &) = delete;

    const char *text() const {
        if (string_ == nullptr) return "";
        // The first member of either ABI's std::string points to its characters.
        const char *characters;
        std::memcpy(&characters, string_.get(), sizeof characters);
        return characters;
    }

  private:
    std::shared_ptr<const void> string_;
};

// A graph, of which only GE's own functions know the inside.
class Graph {
  public:
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

  private:
    std::shared_ptr<const void> implementation_;
};

class Tensor {
  public:
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;

  private:
    std::shared_ptr<const void> implementation_;
};

// Returned by GE's functions by value, through memory that the caller provides: their destructor is not trivial.
class TensorDesc {
  private:
    std::shared_ptr<const void> implementation_;
};

class Shape {
  private:
    std::shared_ptr<const void> implementation_;
};

}  // namespace ge

namespace cann {

using Options = std::map<ge::AscendString, ge::AscendString>;
using Tensors = std::vector<ge::Tensor>;

// What libstdc++'s map is made of, to judge whether there is one: nodes, of which the end of the tree is one without a
// value. That one's parent is the root, and its left and right are the first node and the last.
struct MapNode {
    enum Colour : uint32_t { kRed, kBlack };
    Colour colour;
    const MapNode *parent, *left, *right;
};

struct MapHeader {
    uint64_t compare;
    MapNode end;
    uint64_t count;
};

}  // namespace cann

static_assert(sizeof(ge::AscendString) == 16 && sizeof(ge::Graph) == 16 && sizeof(ge::Tensor) == 16, "CANN's layout");
static_assert(sizeof(ge::TensorDesc) == 16 && sizeof(ge::Shape) == 16, "CANN's layout");
static_assert(sizeof(cann::Options) == 48 && sizeof(cann::Options::value_type) == 32, "libstdc++'s layout");
static_assert(sizeof(cann::MapHeader) == sizeof(cann::Options), "libstdc++'s layout");
static_assert(sizeof(cann::Tensors) == 24, "libstdc++'s layout");

#endif
