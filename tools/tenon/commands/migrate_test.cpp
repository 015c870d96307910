// SPDX-License-Identifier: Apache-2.0
// tenon migrate, on projects that are made here, and on what is none.
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace commands_migrate_test {

using nlohmann::json;

class Migrate : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    for (const char* api : {"openvino", "dlstreamer"})  // Folders that may be deleted.
      if (!fs::exists(source_tree() + "/compat/" + api + "/migrate.toml")) GTEST_SKIP() << "without compat/" << api;
  }
  json migrated(const std::string& arguments, int status) const {
    const Outcome done = tool("migrate " + arguments + " --json");
    EXPECT_EQ(done.status, status) << done.out << done.err;
    const json read = json::parse(done.out, nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << done.out;
    return read;
  }
  /// The use of that name; null if there is none.
  static json use(const json& report, const std::string& name) {
    for (const json& api : report.at("apis"))
      for (const json& each : api.at("uses"))
        if (each.at("name") == name) return each;
    return {};
  }
  static std::string state(const json& report, const std::string& name) {
    const json found = use(report, name);
    return found.is_null() ? "not used" : found.at("state").get<std::string>();
  }
  std::string source_tree() const { return from_environment("TENON_SOURCE_DIR"); }
};

TEST_F(Migrate, SaysWhatAProjectUses) {
  write(
      "CMakeLists.txt",
      "project(app)\nfind_package(OpenVINO REQUIRED COMPONENTS Runtime Threading)  # Runtime of nothing else\n"
      "find_package(Other COMPONENTS Runtime)\n"
      "target_link_libraries(app PRIVATE openvino::runtime openvino::frontend::onnx openvino::frontend::tensorflow)\n");
  write("src/main.cpp",
        "#include <openvino/openvino.hpp>\n#include \"openvino/core/symbol.hpp\"\n#include <vector>\n"
        "// ov::Symbol and #include <openvino/op/abs.hpp> in a comment\n"
        "const char* text = \"ov::Symbol\"; const char* raw = R\"(ov::Symbol \" )\";\n"
        "namespace opp = ov::preprocess;\n"
        "int main() {\n  ov::Core core;\n  core.add_extension(\"x\");\n"
        "  auto m = core.read_model(\"m.xml\");\n  opp::PrePostProcessor p(m);\n"
        "  core.set_property(\"CPU\", {{\"PERFORMANCE_HINT\", \"LATENCY\"}, ov::hint::num_requests(2)});\n"
        "  core.register_plugins(\"x\");\n  ov::TensorSymbol* symbols = nullptr;\n"
        "  auto mode = ov::op::v11::TopK::Mode::MAX;\n  ov::my_own();\n  ov::no_such_thing();\n}\n");
  write("src/own.hpp", "namespace ov { void my_own(); }\n");
  const json report = migrated(".", 1);
  EXPECT_EQ(report.at("files"), 3);
  ASSERT_EQ(report.at("apis").size(), 1);
  EXPECT_EQ(state(report, "openvino/openvino.hpp"), "there");
  EXPECT_EQ(state(report, "openvino/op/abs.hpp"), "not used");
  EXPECT_EQ(state(report, "openvino/core/symbol.hpp"), "absent");
  EXPECT_NE(use(report, "openvino/core/symbol.hpp").at("reason"), "");
  EXPECT_EQ(state(report, "ov::Core"), "there");
  EXPECT_EQ(use(report, "ov::Core").at("line"), 8);
  EXPECT_EQ(use(report, "ov::Core").at("file"), "./src/main.cpp");
  EXPECT_EQ(state(report, "read_model"), "there");
  EXPECT_EQ(state(report, "add_extension"), "differs");
  EXPECT_EQ(state(report, "ov::preprocess::PrePostProcessor"), "there");
  EXPECT_EQ(state(report, "PERFORMANCE_HINT"), "there");
  EXPECT_EQ(state(report, "ov::hint::num_requests"), "there");
  EXPECT_EQ(state(report, "ov::op::v11::TopK::Mode::MAX"), "there");
  EXPECT_EQ(state(report, "ov::Core::register_plugins"), "absent");
  EXPECT_EQ(state(report, "ov::TensorSymbol"), "absent");
  EXPECT_NE(use(report, "ov::TensorSymbol").at("instead"), "");
  EXPECT_EQ(state(report, "ov::no_such_thing"), "absent");
  EXPECT_EQ(state(report, "ov::my_own"), "not used") << "the project declares it itself";
  EXPECT_EQ(state(report, "ov::Symbol"), "not used") << "in a comment and in texts alone";
  EXPECT_EQ(state(report, "find_package(Runtime)"), "there");
  EXPECT_EQ(use(report, "find_package(Runtime)").at("count"), 1);
  EXPECT_EQ(state(report, "find_package(Threading)"), "absent");
  EXPECT_EQ(state(report, "target_link_libraries(openvino::runtime)"), "there");
  EXPECT_EQ(state(report, "target_link_libraries(openvino::frontend::onnx)"), "there");
  EXPECT_EQ(state(report, "target_link_libraries(openvino::frontend::tensorflow)"), "absent");
  EXPECT_EQ(report.at("apis")[0].at("build").size(), 2);
  EXPECT_EQ(report.at("apis")[0].at("change").size(), 4);

  const Outcome text = tool("migrate .");
  EXPECT_EQ(text.status, 1);
  for (const char* part : {"ov::TensorSymbol", "src/main.cpp:14", "-DOpenVINO_DIR=", "-ltenon_openvino_api", "differs",
                           "find_package(OpenVINO REQUIRED COMPONENTS Runtime Threading)"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " in\n" << text.out;
}

TEST_F(Migrate, OpenedNamespacesAndC) {
  write("a.cpp", "#include <openvino/runtime/core.hpp>\nusing namespace ov;\nCore core; void f(CompiledModel&);\n");
  json report = migrated("a.cpp", 0);
  EXPECT_EQ(state(report, "ov::Core"), "there");
  EXPECT_EQ(state(report, "ov::CompiledModel"), "there");
  write("a.c",
        "#include <openvino/c/openvino.h>\nint main(void) { ov_core_t* core; ov_helper(); return ov_core_create(&core) "
        "||\n"
        "ov_core_set_property(core, \"CPU\", ov_property_key_cache_dir, \"d\") || ov_core_add_extension(core, \"e\"); "
        "}\n");
  report = migrated("a.c", 0);
  EXPECT_EQ(state(report, "ov_core_create"), "there");
  EXPECT_EQ(use(report, "ov_core_create").at("kind"), "function");
  EXPECT_EQ(state(report, "ov_property_key_cache_dir"), "there");
  EXPECT_EQ(state(report, "ov_core_t"), "there");
  EXPECT_EQ(state(report, "ov_core_add_extension"), "differs");
  EXPECT_EQ(state(report, "ov_helper"), "not used");
}

TEST_F(Migrate, DlStreamer) {
  write("CMakeLists.txt",
        "pkg_check_modules(DLSTREAMER dl-streamer REQUIRED)\ninclude_directories(${DLSTREAMER_INCLUDE_DIRS})\n");
  write("m.cpp",
        "#include \"dlstreamer/vaapi/context.h\"\n#include <dlstreamer/gst/allocator.h>\nusing namespace dlstreamer;\n"
        "VAAPIContextPtr c = VAAPIContext::create(nullptr);\n");
  const json report = migrated(".", 1);
  EXPECT_EQ(state(report, "dlstreamer/vaapi/context.h"), "there");
  EXPECT_EQ(state(report, "dlstreamer/gst/allocator.h"), "absent");
  EXPECT_EQ(state(report, "dlstreamer::VAAPIContextPtr"), "there");
  EXPECT_EQ(state(report, "pkg_check_modules(dl-streamer)"), "there");
}

TEST_F(Migrate, ProgramsThatAreJudgedNeedNothingElse) {
  const std::string compat = source_tree() + "/compat/";
  for (const char* folder : {"openvino/programs", "openvino/c/programs", "openvino/consumer", "openvino/remote"}) {
    const Outcome done = tool("migrate " + compat + folder);
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_NE(done.out.find("OpenVINO: "), std::string::npos) << done.out;
  }
}

TEST_F(Migrate, WhatIsNoSource) {
  expect_one_message(tool("migrate nowhere"), "nowhere");
  EXPECT_EQ(tool("migrate nowhere").status, 66);
  fs::create_directories(folder / "empty");
  EXPECT_EQ(tool("migrate empty").status, 65);
  expect_one_message(tool("migrate empty"), "no source");
  EXPECT_NE(tool("migrate").status, 0);
  write("other.cpp", "int main() { return ov::x; }\n");
  EXPECT_EQ(tool("migrate other.cpp").status, 1);
  write("other.cpp", "int main() {}\n");
  const Outcome none = tool("migrate other.cpp");
  EXPECT_EQ(none.status, 0);
  EXPECT_NE(none.out.find("None of the APIs"), std::string::npos);
}

TEST_F(Migrate, AnythingMayLieInAProject) {
  write("good.cpp", "#include <openvino/openvino.hpp>\nov::Core core;\n");
  write("binary.cpp", std::string("ov::Core\0\1\2", 11));
  write("empty.hpp", "");
  write("not a source.bin", "ov::Core");
  write("cut.cpp", "#include <openvino/");
  write("open.cpp", "/* ov::Core");
  write("raw.cpp", "R\"(ov::Core");
  write("quote.cpp", "#include <openvino/openvino.hpp>\nchar c = '\n ov::Core x; \"\\");
  write("CMakeLists.txt", "find_package(OpenVINO (((");
  write("build/CMakeCache.txt", "");
  write("build/generated.cpp", "#include <openvino/no_such_header.hpp>\n");
  write(".git/hook.cpp", "#include <openvino/no_such_header.hpp>\n");
  write("loop/deep.cpp", "#include <openvino/openvino.hpp>\n");
  fs::create_directory_symlink("..", folder / "loop" / "up");
  fs::create_directory_symlink("self", folder / "self");
  fs::create_symlink("gone.cpp", folder / "dangling.cpp");
  fs::create_symlink("good.cpp", folder / "same.cpp");
  ASSERT_EQ(::mkfifo((folder / "pipe.cpp").c_str(), 0600), 0);
  write("huge.cpp", "ov::Symbol x;\n");
  fs::resize_file(folder / "huge.cpp", (16 << 20) + 1);  // A hole: it takes no room.
  std::string random;
  std::mt19937 numbers(7);
  for (int i = 0; i < 200000; ++i)
    random +=
        "ov::<>{}()\"'/*#\\\n \xff"
        "Aa0_R-"[numbers() % 25];
  write("random.cpp", "#include <openvino/openvino.hpp>\n" + random);
  write("random.cmake", random);
  write("long.cpp",
        "#include <openvino/openvino.hpp>\n" + std::string(1 << 20, '{') + "ov::Core" + std::string(1 << 20, ':'));
  const json report = migrated(".", 0);
  std::string skipped;
  for (const json& each : report.at("skipped"))
    skipped += each.at("path").get<std::string>() + " " + each.at("reason").get<std::string>() + "\n";
  for (const char* part :
       {"binary.cpp binary", "huge.cpp larger than 16 MB", "pipe.cpp not a file", "loop/up a link to a folder",
        "dangling.cpp No such file", "build a build tree", ".git a hidden folder"})
    EXPECT_NE(skipped.find(part), std::string::npos) << part << " in\n" << skipped;
  EXPECT_EQ(report.at("failed"), json::array());
  EXPECT_EQ(state(report, "openvino/no_such_header.hpp"), "not used");
  EXPECT_EQ(state(report, "ov::Symbol"), "not used");
  EXPECT_EQ(state(report, "ov::Core"), "there");
}

TEST_F(Migrate, FoldersMayBeDeep) {
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  for (int i = 0; i < 300; ++i) {
    fs::create_directory("d");
    fs::current_path("d");
  }
  std::ofstream("x.cpp") << "#include <openvino/openvino.hpp>\n";
  fs::current_path(before);
  const json report = migrated(".", 0);
  EXPECT_EQ(report.at("files"), 1);
}

TEST_F(Migrate, WhatCannotBeReadIsReported) {
  write("good.cpp", "#include <openvino/openvino.hpp>\n");
  write("closed.cpp", "#include <openvino/openvino.hpp>\n");
  write("shut/in.cpp", "#include <openvino/openvino.hpp>\n");
  fs::permissions(folder, fs::perms(0755));
  fs::permissions(folder / "closed.cpp", fs::perms::none);
  fs::permissions(folder / "shut", fs::perms::none);
  // For root nothing is closed.
  std::string before;
  if (::geteuid() == 0) {
    before = "setpriv --reuid 65534 --regid 65534 --clear-groups --";
    if (std::system((before + " true 2>/dev/null").c_str()) != 0 ||
        std::system((before + " test -x '" + from_environment("TENON_TOOL") + "'").c_str()) != 0) {
      fs::permissions(folder / "shut", fs::perms::owner_all);
      GTEST_SKIP() << "as root, without setpriv or with a build that others cannot read";
    }
  }
  const Outcome done = tool("migrate .", before);
  EXPECT_EQ(done.status, 77) << done.out << done.err;
  for (const char* part : {"closed.cpp: Permission denied", "shut: Permission denied"})
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
  EXPECT_NE(done.out.find("1 file read"), std::string::npos) << done.out;
  EXPECT_EQ(tool("migrate closed.cpp", before).status, 77);
  fs::permissions(folder / "shut", fs::perms::owner_all);
}

}  // namespace commands_migrate_test
}  // namespace tenon::tool::testing
