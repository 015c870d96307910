// SPDX-License-Identifier: Apache-2.0
// Frameworks as modules beside the tool.
#include <tenon/tools/tenon/shared/known_contexts.hpp>

#include <algorithm>
#include <fstream>

#include <tenon/core/module_files.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace known_contexts_test {

using nlohmann::json;
using KnownContextsTest = ToolTest;

TEST_F(KnownContextsTest, AModuleThatCannotBeLoadedIsAbsentWithItsReason) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tenon_contexts_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libtenon_contexts_broken.so") << "no library";
  std::filesystem::copy_file(find_library("libtenon_core.so"), folder / "libtenon_contexts_foreign.so");
  std::filesystem::copy_file(find_library("libtenon_contexts_cpu.so"), folder / "libtenon_contexts_sound.so");
  const ContextModules known = load_context_modules({folder, "/nonexistent/folder"});
  std::filesystem::remove_all(folder);
  ASSERT_EQ(known.absent.size(), 2u);
  EXPECT_EQ(known.absent[0].name, "broken");
  EXPECT_NE(known.absent[0].reason.find("libtenon_contexts_broken.so"), std::string::npos) << known.absent[0].reason;
  EXPECT_EQ(known.absent[1].name, "foreign");
  EXPECT_NE(known.absent[1].reason.find("another release"), std::string::npos) << known.absent[1].reason;
  ASSERT_EQ(known.contexts.size(), 1u);
  EXPECT_EQ(known.contexts[0]->name(), "cpu");
  EXPECT_EQ(known.names.at("sound"), std::vector<std::string>{"cpu"});
}

TEST_F(KnownContextsTest, ThisBuildsOwnAreAllThere) {
  const Outcome done = tool("matrix --json cpu ffmpeg");
  ASSERT_EQ(done.status, 0) << done.err;
  for (const json& absent : json::parse(done.out).at("absent")) EXPECT_TRUE(absent.at("loads")) << absent.dump();
}

/// For each framework there are contexts, or a reason why there are none.
TEST_F(KnownContextsTest, EachModuleHasContextsOrSaysWhyNot) {
  const ContextModules& known = known_contexts();
  for (const auto& [module, path] : find_modules("libtenon_contexts_", library_folders())) {
    const std::string& name = module;
    const auto absent = std::find_if(known.absent.begin(), known.absent.end(),
                                     [&](const AbsentFramework& each) { return each.name == name; });
    const bool has_some = known.names.count(name) != 0;
    EXPECT_NE(has_some, absent != known.absent.end()) << name;
    if (absent == known.absent.end()) continue;
    EXPECT_GT(absent->reason.size(), 20u) << name << ": " << absent->reason;
    EXPECT_NE(absent->reason, "it has no device on this machine") << name << ": its contexts.hpp has no why_none()";
  }
}

/// State that a framework keeps once per process is shared by all modules: cv::UMat uses the very contexts of the OpenCL
/// module.
TEST_F(KnownContextsTest, ModulesShareWhatExistsOncePerProcess) {
  std::string opencl, umat;
  for (const Context& context : known_contexts().contexts) {
    const std::string name(context->name());
    if (opencl.empty() && name.starts_with("opencl:")) opencl = name;
    if (!opencl.empty() && name == "opencv.umat:" + opencl.substr(opencl.find(':') + 1)) umat = name;
  }
  if (umat.empty()) GTEST_SKIP() << "no OpenCL device, or OpenCV without OpenCL";
  const Outcome done = tool("matrix --json '" + opencl + "' '" + umat + "'");
  ASSERT_EQ(done.status, 0) << done.err;
  for (const json& pair : json::parse(done.out).at("pairs")) EXPECT_EQ(pair.at("result"), "proved") << pair.dump();
}

}  // namespace known_contexts_test
}  // namespace tenon::tool::testing
