// SPDX-License-Identifier: Apache-2.0
// Any text as a pipeline file: it is parsed, planned with all elements that are linked in, and drawn, or refused with an Error. Nothing
// is opened.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/elements/pipeline_spec.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  try {
    const elements::PipelinePlan plan =
        elements::plan_pipeline(elements::parse_pipeline({reinterpret_cast<const char*>(data), size}));
    elements::to_dot(plan);
    UsedFiles files;
    elements::add_files(files, plan);
  } catch (const Error&) {
  }
  return 0;
}
