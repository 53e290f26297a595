#include "message.h"

#include <cstdio>
#include <cstring>

namespace ge {

namespace {

void append_varint(std::string &out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void append_record(std::string &out, int number, const std::string &record) {
    append_varint(out, static_cast<uint64_t>(number) << 3 | 2);
    append_varint(out, record.size());
    out += record;
}

// As protobuf's printer escapes: three octal digits for what is not printable.
std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        char octal[5];
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += octal;
        }
    }
    return out + "\"";
}

}  // namespace

Message::Field &Message::add(int number, const char *name, Kind kind) {
    fields_.push_back({number, name, kind, "", 0, 0, {}, {}});
    return fields_.back();
}

void Message::text(int number, const char *name, const std::string &value) { add(number, name, Kind::kText).text = value; }

void Message::choice(int number, const char *name, int64_t value, const std::string &word) {
    Field &field = add(number, name, Kind::kNumber);
    field.value = value;
    field.text = word;
}

void Message::integer(int number, const char *name, int64_t value) { choice(number, name, value, std::to_string(value)); }

void Message::truth(int number, const char *name, bool value) { choice(number, name, value, value ? "true" : "false"); }

void Message::real(int number, const char *name, float value) { add(number, name, Kind::kReal).real = value; }

void Message::integers(int number, const char *name, const std::vector<int64_t> &values) {
    add(number, name, Kind::kNumbers).values = values;
}

Message &Message::message(int number, const char *name) {
    Field &field = add(number, name, Kind::kMessage);
    field.nested.emplace_back();
    return field.nested.back();
}

std::string Message::bytes() const {
    std::string out;
    for (const Field &field : fields_) {
        switch (field.kind) {
        case Kind::kText: append_record(out, field.number, field.text); break;
        case Kind::kMessage: append_record(out, field.number, field.nested.front().bytes()); break;
        case Kind::kNumber:
            append_varint(out, static_cast<uint64_t>(field.number) << 3);
            append_varint(out, static_cast<uint64_t>(field.value));
            break;
        case Kind::kReal: {
            char raw[sizeof field.real];
            memcpy(raw, &field.real, sizeof raw);
            append_varint(out, static_cast<uint64_t>(field.number) << 3 | 5);
            out.append(raw, sizeof raw);
            break;
        }
        case Kind::kNumbers: {
            std::string packed;
            for (const int64_t value : field.values) append_varint(packed, static_cast<uint64_t>(value));
            if (!field.values.empty()) append_record(out, field.number, packed);
        }
        }
    }
    return out;
}

std::string Message::printed(size_t indent) const {
    std::string out;
    for (const Field &field : fields_) {
        const std::string begin = std::string(indent, ' ') + field.name;
        switch (field.kind) {
        case Kind::kText: out += begin + ": " + quoted(field.text) + "\n"; break;
        case Kind::kNumber: out += begin + ": " + field.text + "\n"; break;
        case Kind::kReal: out += begin + ": " + std::to_string(field.real) + "\n"; break;
        case Kind::kNumbers:
            for (const int64_t value : field.values) out += begin + ": " + std::to_string(value) + "\n";
            break;
        case Kind::kMessage:
            out += begin + " {\n" + field.nested.front().printed(indent + 2) + std::string(indent, ' ') + "}\n";
        }
    }
    return out;
}

}  // namespace ge
