// SPDX-License-Identifier: Apache-2.0
// Entry of the command-line tool.
#include "commands.hpp"

int main(int argc, char** argv) { return tenon::tool::main(argc, argv); }
