// SPDX-License-Identifier: Apache-2.0
// The commands of the tool: each registers its options and the code that runs when it is chosen.
#pragma once

namespace CLI {
class App;
}

namespace tenon::tool {

void add_bench(CLI::App& app);
void add_cache(CLI::App& app);
void add_devices(CLI::App& app);
void add_elements(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_gpu_env(CLI::App& app);
void add_matrix(CLI::App& app);
void add_migrate(CLI::App& app);
void add_npu_env(CLI::App& app);
void add_pipeline(CLI::App& app);
void add_tune(CLI::App& app);
void add_va_env(CLI::App& app);
void add_route(CLI::App& app);
void add_run(CLI::App& app);
void add_serve_frames(CLI::App& app);
void add_verify(CLI::App& app);
void add_query(CLI::App& app);
void add_compile(CLI::App& app);
void add_convert(CLI::App& app);

/// All of them.
void add_commands(CLI::App& app);

/// Parses and runs. Returns 0, or a non-zero exit status after one short message on stderr. Never throws.
int main(int argc, const char* const* argv);

}  // namespace tenon::tool
