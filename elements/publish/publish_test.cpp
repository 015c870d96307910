// SPDX-License-Identifier: Apache-2.0
// The transform "publish": what is written, what passes, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace publish_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Publishing : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_publish_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void make(const std::map<std::string, std::string>& parameters) {
    make_element("publish", parameters, {"out", nullptr});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Publishing, WritesLinesAndPassesTheSameFramesOn) {
  tenon_test::Arrived arrived;
  arrived.holds = true;
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "3"}}},
                {"test", "b", {{"frames", "5"}, {"width", "32"}}},
                {"publish", "out", {{"path", path("out.jsonl")}}, {"a", "b"}}};
  spec.nodes.push_back(arrived.sink());
  Pipeline pipeline(spec);
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  EXPECT_EQ(arrived.frames[0].size(), 3u);
  EXPECT_EQ(arrived.frames[1].size(), 5u);
  const std::string lines = text_of(path("out.jsonl"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 8);
  EXPECT_THAT(lines, HasSubstr("{\"stream\":1,\"timestamp_ns\":0,\"format\":\"nv12\",\"width\":32,"));
  for (const NodeStats& node : pipeline.stats()) EXPECT_EQ(node.moved.copied, 0u) << node.name;
}

TEST_F(Publishing, FramesOfWhichNothingIsKnownMayBeLeftOut) {
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "3"}}},
                {"publish", "", {{"path", path("none.jsonl")}, {"only_results", "true"}}},
                {"null"}};
  EXPECT_THAT(tenon_test::run(spec), IsEmpty());
  EXPECT_EQ(text_of(path("none.jsonl")), "");
}

TEST_F(Publishing, OptionsAreTheSinksOwn) {
  std::ofstream(path("old.jsonl")) << "{}\n";
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "1"}}},
                {"publish", "", {{"path", path("old.jsonl")}, {"options", "append=true"}}},
                {"null"}};
  EXPECT_THAT(tenon_test::run(spec), IsEmpty());
  EXPECT_THAT(text_of(path("old.jsonl")), ::testing::StartsWith("{}\n{\"stream\":0"));
}

TEST_F(Publishing, WhatIsWrongNamesTheMethodAndTheRemedy) {
  EXPECT_THAT(error_of([&] { make({{"method", "fax"}}); }, Code::kInvalidArgument), HasSubstr("file, mqtt, kafka"));
  EXPECT_THAT(error_of(
                  [&] {
                    make({{"path", path("no/where")}});
                  },
                  Code::kNotFound),
              HasSubstr("element 'out' (publish), method=file: "));
  EXPECT_THAT(error_of([&] { make({{"topic", "t"}}); }, Code::kInvalidArgument), HasSubstr("method=mqtt or kafka"));
  EXPECT_THAT(error_of(
                  [&] {
                    make({{"options", "append"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("'append' is not NAME=VALUE"));
  EXPECT_THAT(error_of(
                  [&] {
                    make({{"path", path("x")}, {"options", "apend=true"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("did you mean 'append'?"));
}

/// The modules of brokers may be missing; the error then names the method.
TEST_F(Publishing, AMethodWhoseElementIsAbsentIsNotFound) {
  for (const std::string method : {"mqtt", "kafka"}) {
    const auto all = known_elements();
    const bool is_here = std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == method; });
    if (is_here)  // The tests of these modules cover this case.
      EXPECT_THAT(error_of([&] { make({{"method", method}}); }, Code::kInvalidArgument), HasSubstr("topic"));
    else
      EXPECT_THAT(error_of(
                      [&] {
                        make({{"method", method}, {"topic", "t"}});
                      },
                      Code::kNotFound),
                  HasSubstr("there is no element '" + method + "'"));
  }
}

}  // namespace publish_test
}  // namespace tenon::elements
