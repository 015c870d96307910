// SPDX-License-Identifier: Apache-2.0
// Runs ONNX backend-test folders through the reference interpreter: backend_tests [--at-least N] [--list] FOLDER...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/readers/onnx/backend_test.hpp>

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  int at_least = 0;
  bool list = false;
  std::vector<fs::path> folders;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--at-least" && i + 1 < count)
      at_least = std::atoi(arguments[++i]);
    else if (argument == "--list")
      list = true;
    else if (fs::exists(fs::path(argument) / "model.onnx"))
      folders.emplace_back(argument);
    else
      for (const auto& entry : fs::directory_iterator(argument)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0, failed = 0, skipped = 0;
  for (const fs::path& folder : folders) {
    const auto result = tenon::run_backend_test(
        folder, [](const auto& model, const auto& inputs) { return tenon::evaluate(*model, inputs); });
    passed += result.outcome == tenon::BackendTestOutcome::kPassed;
    failed += result.outcome == tenon::BackendTestOutcome::kFailed;
    skipped += result.outcome == tenon::BackendTestOutcome::kSkipped;
    if (list) {
      std::string reason = result.reason.substr(0, 400);
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      std::printf("%s\t%s\t%s\n", result.name.c_str(),
                  result.outcome == tenon::BackendTestOutcome::kPassed ? "passed" : "FAILED", reason.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  if (passed < at_least) {
    std::fprintf(stderr, "fewer than the %d that passed before\n", at_least);
    return 1;
  }
  return 0;
}
