// SPDX-License-Identifier: Apache-2.0
// No option of any command writes over a file that any other one of it reads. The pairs come from the commands' own descriptions of their
// options, so that a new option takes part by itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/testing/running.hpp>

namespace tenon::tool::testing {
namespace commands_files_test {

using nlohmann::json;
using ::testing::HasSubstr;

/// What stands for a kind of input: a value, and files that are read because of it.
struct Sample {
  std::string value;
  std::vector<std::string> read;
};

class CommandFilesOfAll : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    add_commands(app_);
    fs::create_directories(folder / "pictures");
    write_clip("clip.mp4", 64, 48, 3);
    write_clip("pictures/p1.png", 32, 32, 1, "png", AV_PIX_FMT_RGB24);
    fs::copy_file(model("demo.onnx"), file("m.onnx"));
    fs::copy_file(model("colour.xml"), file("c.xml"));
    fs::copy_file(model("colour.bin"), file("c.bin"));
    write("truth.json", R"({"images": [{"id": 1, "file_name": "p1.png", "width": 32, "height": 32}], "annotations": [],
                            "categories": [{"id": 1, "name": "circle"}]})");
    write("results.json", "[]");
    write("labels.txt", "a\nb\nc\nd\n");
    write("side/metadata.yaml", "stride: 32\ntask: detect\nnames: {0: a}\n");
    write("ops.txt", "Softmax\n");
    write("video.json", text_of(model("demo.json")));
    write("p.json", json{{"nodes",
                          {{{"element", "file"}, {"parameters", {{"path", "clip.mp4"}}}},
                           {{"element", "infer"}, {"parameters", {{"model", "m.onnx"}}}},
                           {{"element", "null"}}}}}
                        .dump());
    write("case/model.onnx", text_of(file("m.onnx")));
    write("case/test_data_set_0/input_0.pb", "none");
  }

  const std::map<std::string, Sample> samples_{{kModelFile, {"m.onnx", {"m.onnx"}}},
                                               {kWeightsFile, {"c.bin", {"c.bin"}}},
                                               {kSideFile, {"side/metadata.yaml", {"side/metadata.yaml"}}},
                                               {kLabelsFile, {"labels.txt", {"labels.txt"}}},
                                               {kMediaFile, {"clip.mp4", {"clip.mp4"}}},
                                               {kPipelineFile, {"p.json", {"p.json", "clip.mp4", "m.onnx"}}},
                                               {kTruthFile, {"truth.json", {"truth.json"}}},
                                               {kResultsFile, {"results.json", {"results.json"}}},
                                               {kPictureFolder, {"pictures", {"pictures/p1.png"}}},
                                               {kFolder, {"case", {"case/model.onnx"}}},
                                               {kProgramFile, {"ops.txt", {"ops.txt"}}},
                                               {kSourceFile, {"ops.txt", {"ops.txt"}}}};
  /// Values, which name no files, for options that others need.
  const std::map<std::string, std::string> values_{{"--estimate", "4000"}};

  /// Without what checks of its value add: "PIPELINE:FILE".
  static std::string kind_of(const CLI::Option* option) {
    const std::string name = option->get_type_name();
    return name.substr(0, name.find(':'));
  }
  static bool is_output(const CLI::Option* option) { return kind_of(option) == kOutputFile; }
  bool is_input(const CLI::Option* option) const { return samples_.contains(kind_of(option)); }

  /// The words that set an option. @param value  Empty for a flag.
  static std::string words(const CLI::Option* option, const std::string& value) {
    const std::string name = option->get_positional()       ? ""
                             : option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                            : "--" + option->get_lnames().front();
    return name + (name.empty() || value.empty() ? "" : " ") + value + " ";
  }

  /// A call in which `reader` reads its sample and `writer` writes `target`, with what these and the command need.
  std::string call(const CLI::App* command, const CLI::Option* reader, const CLI::Option* writer,
                   const std::string& target) {
    std::map<const CLI::Option*, std::string> given{{reader, samples_.at(kind_of(reader)).value}, {writer, target}};
    std::vector<const CLI::Option*> todo{reader, writer};
    for (const CLI::Option* option : command->get_options())
      if (option->get_required()) todo.push_back(option);
    const auto add = [&](const std::string& name) {
      if (const CLI::Option* option = command->get_option_no_throw(name)) todo.push_back(option);
    };
    // The forms of commands that have more than one.
    if (command->get_name() == "compile" && writer->get_name() == "--report") add("--estimate");
    if (command->get_name() == "evaluate") {
      const std::string kind = kind_of(reader), name = writer->get_name();
      const bool finds = kind == kModelFile || kind == kPictureFolder || kind == kMediaFile || kind == kSideFile ||
                         name == "--save-results";
      add(finds ? "--model" : "results");
      if (finds && kind != kMediaFile) add("--pictures");
    }
    if (command->get_name() == "bench" && kind_of(reader) == kSideFile) add("--model");
    while (!todo.empty()) {
      const CLI::Option* const option = todo.back();
      todo.pop_back();
      if (!given.contains(option)) {
        const auto value = values_.find(option->get_name());
        given[option] = is_input(option)         ? samples_.at(kind_of(option)).value
                        : is_output(option)      ? "fresh.xml"
                        : value != values_.end() ? value->second
                                                 : "";
      }
      for (const CLI::Option* needed : option->get_needs())
        if (!given.contains(needed)) todo.push_back(needed);
    }
    if (kind_of(reader) == kWeightsFile)
      for (auto& [option, value] : given)
        if (kind_of(option) == kModelFile) value = "c.xml";
    if (command->get_name() == "evaluate" && kind_of(reader) == kMediaFile)
      for (auto& [option, value] : given)
        if (kind_of(option) == kTruthFile) value = "video.json";
    // Positional ones in the order of their description, the others behind them.
    std::string line = command->get_name() + " ";
    for (const CLI::Option* option : command->get_options())
      if (const auto found = given.find(option); found != given.end() && option->get_positional())
        line += words(option, found->second);
    for (const auto& [option, value] : given)
      if (!option->get_positional()) line += words(option, value);
    if (command->get_name() == "npu-env") line += "-- true";
    return line;
  }

  CLI::App app_;
};

TEST_F(CommandFilesOfAll, WriteOverNothingThatTheyRead) {
  std::map<std::string, std::string> before;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) before[entry.path().string()] = text_of(entry.path());
  std::size_t pairs = 0, others = 0;
  std::set<std::string> commands;
  for (const CLI::App* command : app_.get_subcommands({})) {
    for (const CLI::Option* writer : command->get_options()) {
      if (!is_output(writer)) continue;
      for (const CLI::Option* reader : command->get_options()) {
        if (!is_input(reader)) continue;
        for (const std::string& read : samples_.at(kind_of(reader)).read) {
          // By another name, so that texts are no sign of it. What convert writes must end so.
          const std::string link =
              "link" + (command->get_name() == "convert" ? ".xml" : fs::path(read).extension().string());
          fs::remove(folder / link);
          fs::create_hard_link(folder / read, folder / link);
          for (const std::string& target : {link, read}) {
            const std::string line = call(command, reader, writer, target);
            SCOPED_TRACE("tenon " + line + "(the link is " + read + ")");
            // npu-env becomes the program that it is given.
            const Outcome refused = command->get_name() == "npu-env" ? tool(line) : here(line);
            EXPECT_NE(refused.status, 0);
            const bool has_another_form = refused.err.find("--streams is for") != std::string::npos ||
                                          refused.err.find("give either RESULTS") != std::string::npos ||
                                          refused.err.find("give a name that ends with .xml") != std::string::npos;
            others += has_another_form ? 1 : 0;
            if (!has_another_form) {
              EXPECT_THAT(refused.err, HasSubstr("which is read"));
            }
            ++pairs;
            commands.insert(command->get_name());
            for (const auto& [path, bytes] : before) {
              if (text_of(path) == bytes) continue;
              ADD_FAILURE() << path << " was written over";
              write(fs::relative(path, folder).string(), bytes);
            }
          }
        }
      }
    }
  }
  EXPECT_THAT(commands, ::testing::IsSupersetOf({"run", "pipeline", "bench", "compile", "convert", "evaluate", "tune",
                                                 "verify", "npu-env"}));
  EXPECT_GE(pairs, 80u);
  EXPECT_LT(others, pairs / 4);
}

/// Whose help speaks of a file has a kind.
TEST_F(CommandFilesOfAll, OptionsWithFilesSayWhatTheyNameAndWhetherItIsWritten) {
  for (const CLI::App* command : app_.get_subcommands({})) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string about = option->get_description(), kind = kind_of(option);
      const bool speaks_of_files = about.starts_with("Write ") || about.starts_with("File ") ||
                                   about.starts_with("Folder ") || about.starts_with("ONNX file") ||
                                   about.find("JSON file") != std::string::npos;
      const bool has_kind = is_input(option) || is_output(option) || kind == kOutputFolder || kind == kSocket;
      if (option->get_items_expected_max() == 0) continue;  // A flag.
      EXPECT_TRUE(has_kind || !speaks_of_files)
          << command->get_name() << " " << option->get_name() << " (" << kind << "): " << about;
    }
  }
}

}  // namespace commands_files_test
}  // namespace tenon::tool::testing
