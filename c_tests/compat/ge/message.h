// message.h - a protobuf message as a tree, with both of its forms: the bytes that GE saves and the text that it dumps.
#ifndef GE_MESSAGE_H
#define GE_MESSAGE_H

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ge {

class Message {
  public:
    void text(int number, const char *name, const std::string &value);
    void integer(int number, const char *name, int64_t value);
    void truth(int number, const char *name, bool value);
    void real(int number, const char *name, float value);
    // A value of an enumeration, which the text has by its name.
    void choice(int number, const char *name, int64_t value, const std::string &word);
    // Numbers in one packed record.
    void integers(int number, const char *name, const std::vector<int64_t> &values);
    // Another message, to be filled; it stays where it is.
    Message &message(int number, const char *name);

    std::string bytes() const;
    std::string printed(size_t indent = 0) const;

  private:
    enum class Kind { kText, kNumber, kReal, kNumbers, kMessage };
    struct Field {
        int number;
        std::string name;
        Kind kind;
        std::string text;  // or a number as the text has it
        int64_t value;
        float real;
        std::vector<int64_t> values;
        std::deque<Message> nested;  // one at most; a container that may hold what is not complete yet
    };
    Field &add(int number, const char *name, Kind kind);

    std::deque<Field> fields_;
};

}  // namespace ge

#endif
