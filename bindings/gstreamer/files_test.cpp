// SPDX-License-Identifier: Apache-2.0
// No element writes over a file that another element of its pipeline reads: every parameter of every element that names a file to write, by
// the elements' descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace files_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class GstFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    load_plugin();
    std::ofstream(clip_) << "a clip";
    fs::create_hard_link(clip_, link_);
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder folder_;
  const std::string clip_ = (folder_.path() / "clip.mp4").string(), link_ = (folder_.path() / "link.mp4").string();
};

TEST_F(GstFiles, AreNotWrittenOverByAnyElement) {
  std::vector<std::string> seen_names;
  for (const elements::Description& element : elements::known_elements()) {
    const std::string name = "tenon" + element.name;
    const gs::ObjectPtr<GstElementFactory> known(gst_element_factory_find(name.c_str()));
    if (!known || !element.files) continue;
    for (const elements::Parameter& parameter : element.parameters) {
      if (!std::holds_alternative<std::string>(parameter.default_value) || !parameter.choices.empty()) continue;
      std::map<std::string, std::string> given;
      for (const elements::Parameter& other : element.parameters)
        if (other.is_required) given[other.name] = elements::to_text(other.default_value);
      given[parameter.name] = clip_;
      elements::ElementFiles files;
      try {
        files = elements::element_files(element, given, {"x", nullptr, {0}});
      } catch (const Error&) {
        continue;  // A text of another form: it names no file.
      }
      if (std::find(files.written.begin(), files.written.end(), clip_) == files.written.end()) continue;
      seen_names.push_back(element.name + "." + parameter.name);
      for (const std::string& path : {clip_, link_}) {
        SCOPED_TRACE(seen_names.back() + " as " + path);
        Line line("filesrc location=" + clip_ + " ! fakesink");
        GstElement* const made = gst_element_factory_make(name.c_str(), "writer");
        ASSERT_NE(made, nullptr);
        std::string property = parameter.name;
        std::replace(property.begin(), property.end(), '_', '-');
        for (const auto& [key, value] : given) {
          std::string other = key;
          std::replace(other.begin(), other.end(), '_', '-');
          if (key != parameter.name) gst_util_set_object_arg(G_OBJECT(made), other.c_str(), value.c_str());
        }
        g_object_set(made, property.c_str(), path.c_str(), nullptr);
        ASSERT_TRUE(gst_bin_add(GST_BIN(line.get()), made));
        EXPECT_THAT(line.run(), AllOf(HasSubstr("'writer'"), HasSubstr("which is read")));
        line.to(GST_STATE_NULL);
        EXPECT_EQ(text_of(clip_), "a clip");
      }
    }
  }
  EXPECT_THAT(seen_names, ::testing::IsSupersetOf({"json.path", "write.path", "publish.path"}));
}

/// What an element finds in a bin of its own counts, and a URI as a path does.
TEST_F(GstFiles, AreKnownInBinsAndByTheirUris) {
  const std::string uri = "file://" + clip_;
  for (const std::string& source :
       {"bin.( filesrc location=" + clip_ + " ! fakesink )", "uridecodebin uri=" + uri + " ! fakesink"}) {
    Line line(source + " videotestsrc num-buffers=1 ! tenonjson name=writer path=" + link_);
    EXPECT_THAT(line.run(), HasSubstr("which is read")) << source;
  }
  EXPECT_EQ(text_of(clip_), "a clip");
}

TEST_F(GstFiles, TwoElementsWriteOneOnlyIfBothAppend) {
  const std::string path = (folder_.path() / "lines.jsonl").string();
  const auto run = [&](const std::string& options) {
    Line line("videotestsrc num-buffers=2 ! tee name=t t. ! queue ! tenonjson path=" + path + options +
              " t. ! queue ! tenonjson path=" + path + options);
    const std::string said = line.run();
    line.to(GST_STATE_NULL);
    return said;
  };
  EXPECT_THAT(run(""), HasSubstr("are one file"));
  EXPECT_EQ(run(" append=true"), "");
}

}  // namespace files_test
