// SPDX-License-Identifier: Apache-2.0
// The second file of the header-only program: includes everything again.
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/null/header_only.hpp>

#include <tenon/tests/header_only/parts.hpp>

namespace header_only {

Parts parts_of_the_other_file(std::string_view edge) {
  using namespace tenon;
  return {&Ledger::process(),
          register_edge(edge),
          cpu::context(),
          dmabuf::context(),
          null::context(),
          edge_to_cpu(dmabuf::context()),
          edge_to_cpu(null::context()),
          null::native::live_blocks()};
}

}  // namespace header_only
