// SPDX-License-Identifier: Apache-2.0
// Entry of the command-line tool.
#include <tenon/tools/tenon/commands/commands.hpp>

int main(int argc, char** argv) { return tenon::tool::main(argc, argv); }
