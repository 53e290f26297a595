// tune MODEL [NAME=VALUE...]: as tune.c, through aoe.hpp, with the options given to the tuning.
#include <aoe.hpp>

#include <cstdio>
#include <string>

int main(int argc, char **argv) try {
    if (argc < 2) {
        std::fputs("tune MODEL [NAME=VALUE...]\n", stderr);
        return 2;
    }
    aoe::Options options;
    for (int i = 2; i < argc; i++) {
        const std::string option = argv[i];
        const std::size_t end = option.find('=');
        if (end == std::string::npos) {
            std::fprintf(stderr, "`%s` is no NAME=VALUE\n", argv[i]);
            return 2;
        }
        options.set(option.substr(0, end), option.substr(end + 1));
    }
    const aoe::Library library = aoe::Library::initialize();
    const aoe::Graph graph = aoe::Graph::load(argv[1]);
    aoe::Session session = aoe::Session::create();
    session.set_graph(graph);
    if (!session.tune(options)) return 1;
    std::puts(session.report().c_str());
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
