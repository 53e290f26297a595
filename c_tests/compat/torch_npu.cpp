// torch_npu, graph mode of 2022: eight sessions of the older form, set and tuned by eight threads at once; neither GE
// sessions nor inputs.
#include "older_client.h"

#include <thread>

TEST(call_order) {
    enum { kSessions = 8 };
    const Library library(RTLD_NOW);
    OlderFunctions<ge::AscendString> aoe;
    aoe.find_six(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"tuning_parallel_num", "8"}}));
    uint64_t sessions[kSessions] = {};
    for (uint64_t &session : sessions) EXPECT(AOE_SUCCESS, aoe.create_session({{"job_type", "2"}}, session));
    std::vector<std::thread> threads;
    for (const uint64_t session : sessions) {
        threads.emplace_back([&aoe, session] {
            ge::Graph graph = session % 2 == 0 ? product() : nothing();
            EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graph));
            EXPECT(session % 2 == 0 ? AOE_SUCCESS : AOE_ERROR_NON_OPTIMIZABLE_OBJECT, aoe.tuning_graph(session, {}));
        });
    }
    for (std::thread &thread : threads) thread.join();
    for (const uint64_t session : sessions) EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}
