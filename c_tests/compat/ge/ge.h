// ge.h - a small GE for the tests: classes with the names, member functions and layouts of CANN's that the clients
// hand to the tuner. Own declarations; a graph here is a file of AIR under a name.
#ifndef GE_H
#define GE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ge {

using graphStatus = uint32_t;
enum DataType : int {
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_INT64 = 9,
    DT_BOOL = 12,
    DT_BF16 = 27,
    DT_INT4 = 29
};
enum Format : int {
    FORMAT_NCHW = 0,
    FORMAT_NHWC = 1,
    FORMAT_ND = 2,
    FORMAT_NC1HWC0 = 3,
    FORMAT_FRACTAL_Z = 4,
    FORMAT_HWCN = 16,
    FORMAT_FRACTAL_NZ = 29
};
enum Placement : int { kPlacementHost = 0, kPlacementDevice = 1 };

class AscendString {
  public:
    AscendString() = default;
    AscendString(const char *text);  // NOLINT: implicit, as CANN's
    const char *GetString() const;
    bool operator<(const AscendString &other) const;

  private:
    std::shared_ptr<std::string> name_;
};

class Shape {
  public:
    explicit Shape(const std::vector<int64_t> &dims);
    size_t GetDimNum() const;
    int64_t GetDim(size_t index) const;

  private:
    std::shared_ptr<struct ShapeImpl> impl_;
};

class TensorDesc {
  public:
    // As CANN's constructor does, it leaves the framework's format at ND, and the framework's shape without sizes.
    TensorDesc(const Shape &shape, Format format, DataType type);
    void SetOriginFormat(Format format);
    void SetOriginShape(const Shape &shape);
    Shape GetShape() const;
    Shape GetOriginShape() const;
    Format GetFormat() const;
    Format GetOriginFormat() const;
    DataType GetDataType() const;

  private:
    std::shared_ptr<struct TensorDescImpl> impl_;
};

class Tensor {
  public:
    Tensor(const TensorDesc &desc, const uint8_t *data, size_t size);
    TensorDesc GetTensorDesc() const;
    const uint8_t *GetData() const;
    size_t GetSize() const;

  private:
    std::shared_ptr<struct TensorImpl> impl_;
};

class GraphBuffer {
  public:
    GraphBuffer();
    ~GraphBuffer();
    const uint8_t *GetData() const;
    size_t GetSize() const;

  private:
    friend class Graph;
    std::shared_ptr<struct GraphBufferImpl> impl_;
};

// How a graph answers when it is to be saved.
enum class Saving { kWell, kFails, kFailsInMemory, kThrows, kThrowsNoException, kWaits, kWritesNoAir };

class Graph {
  public:
    Graph() = default;
    // The graph in a file of AIR.
    Graph(const char *name, const char *air, Saving saving = Saving::kWell);
    // A graph that a program has built, as it has built it.
    explicit Graph(const class Network &network);
    graphStatus GetName(AscendString &name) const;
#if !defined(GE_SAVES_MEMORY_ONLY)
    graphStatus SaveToFile(const char *path) const;
    // The older form, which CANN has beside it, and whose name depends on the ABI of std::string; nobody is to call it.
    graphStatus SaveToFile(const std::string &path) const;
#endif
#if !defined(GE_SAVES_FILES_ONLY)
    graphStatus SaveToMem(GraphBuffer &buffer) const;
#endif

  private:
    std::shared_ptr<struct GraphImpl> impl_;
};

class Session {
  public:
    Session() : sessionId_(42) {}

  private:
    uint64_t sessionId_;
};

// How many graphs were saved, by any thread; how many wait to be saved, for ever; how many buffers live.
size_t SavedGraphs();
size_t WaitingGraphs();
size_t LivingBuffers();
// How often the older form of SaveToFile was called.
size_t OlderSavings();
// The path that a graph was saved to last.
std::string LastPath();

}  // namespace ge

#endif
