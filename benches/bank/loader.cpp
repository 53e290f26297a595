// What CANN's loader of a runtime bank does, as far as its behaviour is known: each line parsed with nlohmann/json
// by several threads, the key packed and hashed, records in a map by that hash, the whole key compared after a hit.
// Usage: loader BANK KEYS; prints names, tabs and values.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

using nlohmann::json;
using Clock = std::chrono::steady_clock;

#pragma pack(push, 1)
struct Key {
    int64_t sizes[11];
    float nums[4];
    int32_t types[6];
    bool flags[7];
    uint64_t reserved[6];
};
#pragma pack(pop)
static_assert(sizeof(Key) == 183, "packed as CANN packs it");

struct Tiling {
    uint32_t fields[23];
};

struct Record {
    Key key;
    Tiling tiling;
};

static const char *const SIZES[] = {"m",        "k",        "n",        "batch_a1", "batch_a2", "batch_a3",
                                    "batch_a4", "batch_b1", "batch_b2", "batch_b3", "batch_b4"};
static const char *const NUMS[] = {"l1_fused_num", "aub_double_num", "bub_double_num", "fused_double_operand_num"};
static const char *const TYPES[] = {"a_dtype", "b_dtype", "out_dtype", "a_format", "b_format", "out_format"};
static const char *const FLAGS[] = {"trans_a_flag", "trans_b_flag", "bias_flag",   "reserved_bool",
                                    "m_align_flag", "k_align_flag", "n_align_flag"};
static const char *const RESERVED[] = {"reserved_params1", "reserved_params2", "reserved_params3",
                                       "reserved_params4", "reserved_params5", "reserved_params6"};
static const char *const TILING[] = {
    "usedCoreNum", "singleCoreM", "singleCoreN", "singleCoreK", "baseM", "baseN", "baseK", "depthA1",
    "depthB1", "stepM", "stepN", "iterateOrder", "stepKa", "stepKb", "dbL0A", "dbL0B",
    "dbL0C", "l2MTileCnt", "l2NTileCnt", "l2MTileBlock", "l2NTileBlock", "l2IterateOrder", "tilingEnable"};

template <typename T, size_t N>
static void read(const json &object, const char *const (&names)[N], T *fields) {
    for (size_t i = 0; i < N; i++) fields[i] = object.at(names[i]).template get<T>();
}

static Record parse(const std::string &line) {
    const json record = json::parse(line);
    const json &info = record.at("info_dict"), &knowledge = record.at("knowledge");
    Record r;
    int64_t sizes[11];
    float nums[4];
    int32_t types[6];
    uint64_t reserved[6];
    read(info, SIZES, sizes);
    read(info, NUMS, nums);
    read(info, TYPES, types);
    read(info, FLAGS, r.key.flags);
    read(info, RESERVED, reserved);
    std::memcpy(r.key.sizes, sizes, sizeof sizes);
    std::memcpy(r.key.nums, nums, sizeof nums);
    std::memcpy(r.key.types, types, sizeof types);
    std::memcpy(r.key.reserved, reserved, sizeof reserved);
    read(knowledge, TILING, r.tiling.fields);
    return r;
}

static uint32_t hash(const Key &key) {
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&key);
    uint32_t h = 271828, t = 0;
    const auto mix = [&h](uint32_t v) { h ^= v + 0x9E3779B9u + (h << 6) + (h >> 2); };
    size_t i = 0;
    for (; i + 4 <= sizeof key; i += 4) {
        std::memcpy(&t, bytes + i, 4);
        mix(t);
    }
    for (size_t rest = sizeof key % 4; rest > 0; rest--) t = (t << 8) | bytes[rest - 1];
    mix(t);
    h ^= static_cast<uint32_t>(sizeof key);
    return h ^ (h >> 16);
}

using Bank = std::unordered_map<uint32_t, Record>;

static Bank load(const char *path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
    Bank bank;
    std::mutex lock;
    const size_t count = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; t++)
        threads.emplace_back([&, t] {
            for (size_t i = lines.size() * t / count; i < lines.size() * (t + 1) / count; i++) {
                const Record record = parse(lines[i]);
                const uint32_t id = hash(record.key);
                const std::lock_guard<std::mutex> guard(lock);
                bank.emplace(id, record);
            }
        });
    for (std::thread &thread : threads) thread.join();
    return bank;
}

static const Tiling *find(const Bank &bank, const Key &key) {
    const auto found = bank.find(hash(key));
    if (found == bank.end() || std::memcmp(&found->second.key, &key, sizeof key) != 0) return nullptr;
    return &found->second.tiling;
}

/* Resident bytes. */
static double resident() {
    double total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * 4096;
}

int main(int argc, char **argv) {
    if (argc != 3) return std::fputs("usage: loader BANK KEYS\n", stderr), 2;
    const double before = resident();
    const Clock::time_point start = Clock::now();
    const Bank bank = load(argv[1]);
    const std::chrono::duration<double> opened = Clock::now() - start;
    std::ifstream file(argv[2], std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<Key> keys(bytes.size() / sizeof(Key));
    std::memcpy(static_cast<void *>(keys.data()), bytes.data(), keys.size() * sizeof(Key));
    std::vector<double> batches;
    uint64_t sum = 0;
    for (size_t i = 0; i + 100 <= keys.size(); i += 100) {
        const Clock::time_point begin = Clock::now();
        for (size_t j = i; j < i + 100; j++)
            if (const Tiling *tiling = find(bank, keys[j])) sum += tiling->fields[0];
        batches.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / 100);
    }
    std::sort(batches.begin(), batches.end());
    std::printf("open\t%.2f s\n", opened.count());
    std::printf("resident memory a record\t%.0f bytes\n", (resident() - before) / static_cast<double>(bank.size()));
    std::printf("query, hit, tiling as a structure\t%.0f ns\n", batches[batches.size() / 2]);
    return sum == 0;
}
