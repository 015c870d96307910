// SPDX-License-Identifier: Apache-2.0
// Exports, imports or compiles with a cache, in a process of its own: the test chooses its libraries.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

// version_bump_worker VERB DEVICE PATH [PROPERTY=VALUE...]; prints a word, or the error. Succeeds unless it is called wrongly.
int main(int argc, char** argv) try {
  using namespace tenon;
  if (argc < 4) return std::fprintf(stderr, "usage: %s VERB DEVICE PATH [PROPERTY=VALUE...]\n", argv[0]), 2;
  const std::string verb = argv[1], name = argv[2], path = argv[3];
  AnyMap properties;
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    properties[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  Core core;
  const auto model = testing::relu_model();
  if (verb == "version") {
    for (const auto& [each, version] : core.get_versions(name)) std::cout << version.buildNumber << "\n";
  } else if (verb == "exports") {
    const auto all = core.get_property(name, device::capabilities);
    const bool does = std::find(all.begin(), all.end(), device::capability::EXPORT_IMPORT) != all.end();
    std::cout << (does ? "yes\n" : "no\n");
  } else if (verb == "compile") {
    core.compile_model(model, name, properties);
    std::cout << "compiled\n";
  } else if (verb == "export") {
    std::ofstream file(path, std::ios::binary);
    core.compile_model(model, name, properties).export_model(file);
    std::cout << (file.flush() ? "exported\n" : "not written\n");
  } else if (verb == "import") {
    std::ifstream file(path, std::ios::binary);
    auto request = core.import_model(file, name, properties).create_infer_request();
    request.infer();
    std::cout << "imported\n";
  } else if (verb == "cache") {
    properties[cache_dir.name()] = path;
    const auto compiled = core.compile_model(model, name, properties);
    std::cout << (compiled.get_property(loaded_from_cache) ? "hit\n" : "miss\n");
  } else {
    return std::fprintf(stderr, "unknown verb %s\n", verb.c_str()), 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cout << "error: " << error.what() << "\n";
  return 0;
}
