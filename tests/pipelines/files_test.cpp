// SPDX-License-Identifier: Apache-2.0
// Every parameter of every element that names a file to write, with every one that names a file to read: from the descriptions alone, so
// that a new element takes part by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::elements {
namespace files_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

/// A parameter that names a file, and the element with that parameter set.
struct Named {
  const Description* element;
  std::string parameter;
  NodeSpec node;
  std::string name() const { return element->name + "." + parameter; }
};

class PipelineFiles : public ::testing::Test {
 protected:
  PipelineFiles() {
    char name[] = "/tmp/tenon_files_XXXXXX";
    folder_ = ::mkdtemp(name);
    file_ = folder_ + "/file.mp4";
    link_ = folder_ + "/link.mp4";
    std::ofstream(file_) << "a file";
    fs::create_hard_link(file_, link_);
    for (const Description& element : all_) {
      for (const Parameter& parameter : element.parameters) {
        if (!std::holds_alternative<std::string>(parameter.default_value) || !parameter.choices.empty()) continue;
        NodeSpec node{element.name, "", {}};
        for (const Parameter& other : element.parameters)
          if (other.is_required) node.parameters[other.name] = to_text(other.default_value);
        node.parameters[parameter.name] = file_;
        try {
          const ElementFiles files = element_files(element, node.parameters, {element.name, nullptr, {0}});
          if (has(files.read)) reads_.push_back({&element, parameter.name, node});
          if (has(files.written)) writes_.push_back({&element, parameter.name, node});
        } catch (const Error&) {
          // A text of another form (a colour, a list): it names no file.
        }
      }
    }
  }
  ~PipelineFiles() override { fs::remove_all(folder_); }

  bool has(const std::vector<std::string>& paths) const {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) { return path == file_; });
  }
  static std::set<std::string> names_of(const std::vector<Named>& all) {
    std::set<std::string> names;
    for (const Named& one : all) names.insert(one.name());
    return names;
  }
  static NodeSpec renamed(NodeSpec node, const char* name) {
    node.name = name;
    return node;
  }

  /// A pipeline in which one node reads the file and another one writes it; nothing where two sources or two sinks of other kinds
  /// of streams cannot meet.
  static PipelineSpec joined(const Named& reader, const Named& writer) {
    const bool is_sound = reader.element->takes == Takes::kAudio || writer.element->takes == Takes::kAudio;
    PipelineSpec spec;
    const auto source = [&] {
      return is_sound ? NodeSpec{"sound", "begin", {{"path", "none.wav"}}} : NodeSpec{"test", "begin"};
    };
    if (reader.element->role != Role::kSource) spec.nodes.push_back(source());
    spec.nodes.push_back(renamed(reader.node, "reader"));
    const std::string last = spec.nodes.back().name;
    if (reader.element->role == Role::kSink) {
      NodeSpec other = renamed(writer.node, "writer");
      other.from = {"begin"};
      spec.nodes.push_back(other);
    } else {
      spec.nodes.push_back(renamed(writer.node, "writer"));
    }
    if (writer.element->role != Role::kSink) {
      NodeSpec end{"null", "end"};
      end.from = {"writer"};
      spec.nodes.push_back(end);
      if (reader.element->role != Role::kSink) spec.nodes[spec.nodes.size() - 2].from = {last};
    }
    return spec;
  }

  const std::vector<Description> all_ = known_elements();
  std::string folder_, file_, link_;
  std::vector<Named> reads_, writes_;
};

TEST_F(PipelineFiles, KnowsTheParametersThatNameThem) {
  EXPECT_THAT(names_of(reads_), IsSupersetOf({"file.path", "infer.model"}));
  EXPECT_THAT(names_of(writes_), IsSupersetOf({"write.path", "json.path"}));
}

TEST_F(PipelineFiles, NoElementWritesOverWhatAnotherReads) {
  std::size_t pairs = 0;
  for (const Named& reader : reads_) {
    for (Named writer : writes_) {
      for (const std::string& path :
           {file_, link_, folder_ + "/../" + fs::path(folder_).filename().string() + "/file.mp4"}) {
        writer.node.parameters[writer.parameter] = path;
        SCOPED_TRACE(reader.name() + " read, " + writer.name() + " written as " + path);
        UsedFiles files;
        try {
          add_files(files, plan_pipeline(joined(reader, writer)));
          ADD_FAILURE() << "written over";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
          EXPECT_THAT(error.what(), HasSubstr("which is read"));
        }
        ++pairs;
      }
    }
  }
  EXPECT_GE(pairs, 12u);
  std::ifstream in(file_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "a file");
}

TEST_F(PipelineFiles, TwoElementsWriteOneFileOnlyIfBothAppend) {
  std::size_t pairs = 0;
  for (const Named& first : writes_) {
    for (const Named& second : writes_) {
      if (first.element->role != Role::kSink || second.element->role != Role::kSink) continue;
      if (first.element->takes != second.element->takes) continue;
      SCOPED_TRACE(first.name() + " and " + second.name());
      NodeSpec a = renamed(first.node, "first"), b = renamed(second.node, "second");
      a.from = b.from = {"begin"};
      const bool both_append = element_files(*first.element, a.parameters, {"first", nullptr, {0}}).appends &&
                               element_files(*second.element, b.parameters, {"second", nullptr, {0}}).appends;
      UsedFiles files;
      try {
        add_files(files, plan_pipeline(PipelineSpec{{{"test", "begin"}, a, b}}));
        EXPECT_TRUE(both_append) << "one writes over what the other writes";
      } catch (const Error& error) {
        EXPECT_FALSE(both_append) << error.what();
        EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
      }
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 4u);
}

}  // namespace files_test
}  // namespace tenon::elements
