// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

/// Compares what was printed with a file, line by line, and says what differs: 0 if nothing does. Without a file, it is printed.
inline int compare(const std::string& printed, const char* name) {
  if (!name) {
    std::cout << printed;
    return 0;
  }
  std::ifstream file(name);
  std::istringstream got(printed);
  std::string expected, found;
  int number = 0, differences = 0;
  while (true) {
    const bool more = static_cast<bool>(std::getline(file, expected));
    const bool more_found = static_cast<bool>(std::getline(got, found));
    if (!more && !more_found) break;
    ++number;
    if (!more) expected = "(the end)";
    if (!more_found) found = "(the end)";
    if (expected != found && ++differences <= 40)
      std::cout << name << ':' << number << ": expected " << expected << "\n    found " << found << '\n';
  }
  std::cout << number << " lines, " << differences << " differences\n";
  return differences == 0 && number > 1 ? 0 : 1;
}
