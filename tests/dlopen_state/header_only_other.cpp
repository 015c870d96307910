// SPDX-License-Identifier: Apache-2.0
// The second file of the header-only program: includes everything again.
#include <tenon/core/header_only.hpp>

const tenon::Ledger* ledger_of_the_other_file() { return &tenon::Ledger::process(); }
tenon::EdgeId edge_of_the_other_file(const char* name) { return tenon::register_edge(name); }
tenon::Context host_of_the_other_file() { return tenon::host_context(); }
