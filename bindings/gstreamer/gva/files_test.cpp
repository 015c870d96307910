// SPDX-License-Identifier: Apache-2.0
// The files of gvametapublish: never over what the pipeline reads, whole, through no link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace gva_files_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string model(const std::string& name) { return std::string(std::getenv("TENON_MODELS")) + "/" + name; }

class GvaFiles : public ::testing::Test {
 protected:
  void SetUp() override { load_plugin(); }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::size_t lines_in(const std::string& path) {
    std::ifstream file(path);
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) count += Json::parse(line).is_object() ? 1 : 0;
    return count;
  }

  const TemporaryFolder folder_;
};

TEST_F(GvaFiles, WriteOverNothingThatTheyRead) {
  const std::string input = path_of("clip.mp4"), link = path_of("link.json"), out = path_of("out.json");
  std::filesystem::copy_file(model("demo.mp4"), input);
  std::filesystem::create_hard_link(input, path_of("hard.mp4"));
  const auto before = std::filesystem::file_size(input);
  for (const char* format : {"json", "json-lines"}) {
    for (const std::string& path : {input, path_of("hard.mp4")}) {
      Line line("filesrc location=" + input + " ! decodebin ! gvametaconvert ! gvametapublish file-format=" + format +
                " file-path=" + path + " ! fakesink");
      EXPECT_THAT(line.run(), HasSubstr("which is read"));
      EXPECT_EQ(std::filesystem::file_size(input), before);
    }
  }
  // An array takes the place of a link, and is there when it is complete.
  std::ofstream(path_of("precious")) << "mine";
  std::filesystem::create_symlink(path_of("precious"), link);
  const std::string source =
      "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48 ! gvaattachroi ! gvametaconvert ! ";
  Line array(source + "gvametapublish file-path=" + link + " ! fakesink");
  ASSERT_EQ(array.run(), "");
  EXPECT_EQ(text_of(link), "mine");
  array.to(GST_STATE_NULL);
  EXPECT_EQ(Json::parse(text_of(link)).size(), 2u);
  EXPECT_EQ(text_of(path_of("precious")), "mine");
  // Lines are added to what is there; a pipe needs a reader.
  for (int round = 0; round < 2; ++round) {
    Line lines(source + "gvametapublish file-format=json-lines file-path=" + out + " ! fakesink");
    ASSERT_EQ(lines.run(), "");
  }
  EXPECT_EQ(lines_in(out), 4u);
  ASSERT_EQ(::mkfifo(path_of("pipe").c_str(), 0600), 0);
  Line pipe(source + "gvametapublish file-path=" + path_of("pipe") + " ! fakesink");
  EXPECT_THAT(pipe.run(), HasSubstr("start the reader first"));
}

}  // namespace gva_files_test
