// SPDX-License-Identifier: MIT
#include "record.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "arch.h"

namespace sprig {
namespace {

void write_versions(std::FILE* file, const std::vector<Version>& versions)
{
    for (const Version& version : versions)
        std::fprintf(file, "V %" PRIxPTR " %zx %" PRIx64 " %" PRIx64 " %s %s\n", version.start, version.size, version.published,
                     version.freed, to_string(version.tier), version.name.c_str());
    for (std::size_t i = 0; i < versions.size(); i++) {
        for (const AheadRange& range : versions[i].ahead)
            std::fprintf(file, "A %zx %x %x\n", i, range.begin, range.end);
    }
}

void write_contexts(std::FILE* file, const ContextTree& tree)
{
    for (const Site& site : tree.sites())
        std::fprintf(file, "S %" PRIxPTR " %x\n", site.return_address, static_cast<unsigned>(site.version));
    for (std::size_t i = 0; i < tree.used(); i++) {
        const Context& context = tree.nodes()[i];
        std::size_t parent = context.parent ? static_cast<std::size_t>(context.parent - tree.nodes()) : 0;
        std::fprintf(file, "C %zx %x\n", parent, context.site);
    }
}

}  // namespace

void write_record(const Engine& engine, const std::string& path)
{
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
    if (!file)
        throw std::runtime_error("cannot write " + path);
    std::fprintf(file.get(), "sprig-record 1 %x %x\n", static_cast<unsigned>(getpid()), arch::perf_context_register);
    std::fprintf(file.get(), "text %" PRIxPTR " %zx\n", engine.memory().start(), engine.memory().size());
    std::fprintf(file.get(), "contexts %" PRIxPTR " %zx\n", reinterpret_cast<std::uintptr_t>(engine.contexts().nodes()), sizeof(Context));
    write_versions(file.get(), engine.versions());
    write_contexts(file.get(), engine.contexts());
    std::fprintf(file.get(), "end\n");
    if (std::fflush(file.get()) != 0 || std::ferror(file.get()))
        throw std::runtime_error("cannot write " + path);
}

}  // namespace sprig
