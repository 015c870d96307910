// SPDX-License-Identifier: Apache-2.0
// Outputs of models and what their exporters' own programs make of them. decoders/oracle.py writes the cases: small ones into
// decoders/cases, which are in git, and larger ones where TENON_DECODER_CASES says, for ./dev check decoders.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/vision/decoder_types.hpp>
#include <tenon/vision/results.hpp>

namespace decoder_cases_test {

using namespace tenon;
using nlohmann::json;

Tensor tensor_of(const json& output, const std::filesystem::path& folder) {
  const std::vector<std::size_t> extents = output.at("shape");
  Shape shape(extents.size(), 0);
  std::copy(extents.begin(), extents.end(), shape.begin());
  const std::string type = output.value("type", "f32");
  Tensor made(type == "i64"    ? ElementType::kI64
              : type == "u8"   ? ElementType::kU8
              : type == "bool" ? ElementType::kBool
                               : ElementType::kF32,
              shape);
  if (output.contains("file")) {
    std::ifstream file(folder / output.at("file").get<std::string>(), std::ios::binary);
    file.read(static_cast<char*>(made.data()), static_cast<std::streamsize>(made.size_bytes()));
    EXPECT_TRUE(file) << output.at("file");
    return made;
  }
  const std::vector<double> values = output.at("values");
  EXPECT_EQ(values.size(), made.element_count());
  for (std::size_t i = 0; i < std::min(values.size(), made.element_count()); ++i) {
    if (type == "i64")
      made.data<std::int64_t>()[i] = static_cast<std::int64_t>(values[i]);
    else if (type == "f32")
      made.data<float>()[i] = static_cast<float>(values[i]);
    else
      static_cast<std::uint8_t*>(made.data())[i] = static_cast<std::uint8_t>(values[i]);
  }
  return made;
}

vision::DecodeOptions options_of(const json& one) {
  vision::DecodeOptions options;
  options.model_type = one.at("type");
  options.labels = one.value("labels", std::vector<std::string>());
  options.parameters = one.value("parameters", std::map<std::string, std::string>());
  options.confidence_threshold = one.value("confidence", 0.5f);
  options.iou_threshold = one.value("iou", 0.5f);
  options.top_k = one.value("top_k", std::size_t{300});
  options.multi_label = one.value("multi_label", false);
  options.image_threshold = one.value("image_threshold", 0.5f);
  options.pixel_threshold = one.value("pixel_threshold", 0.5f);
  options.normalization_scale = one.value("normalization_scale", 1.0f);
  if (one.contains("end_to_end")) options.end_to_end = one.at("end_to_end").get<bool>();
  options.input_width = one.at("input")[0];
  options.input_height = one.at("input")[1];
  for (const json& output : one.at("outputs")) options.output_names.push_back(output.value("name", ""));
  return options;
}

/// All entries as JSON, and beside it what JSON lines leave out: cells of masks, values of tensors.
std::vector<json> entries_of(const metadata::Collection& all) {
  std::vector<json> entries = json::parse(all.json());
  const auto entry = [&](metadata::Id id) -> json& {
    return *std::find_if(entries.begin(), entries.end(), [&](const json& one) { return one.at("id") == id; });
  };
  for (const auto& mask : all.all<metadata::Segmentation>()) {
    const auto* cells = static_cast<const std::uint8_t*>(mask->mask.data());
    entry(mask.id)["cells"] = std::vector<int>(cells, cells + mask->mask.element_count());
  }
  for (const auto& output : all.all<metadata::TensorOutput>()) {
    if (output->tensor.element_type() != ElementType::kF32) continue;
    const auto* values = output->tensor.data<float>();
    entry(output.id)["values"] = std::vector<float>(values, values + output->tensor.element_count());
  }
  return entries;
}

/// What was found, in the form of the cases' own "expected": kinds of metadata with what they hold, children in "children".
json found_by(const std::vector<json>& entries, metadata::Id parent) {
  json found = json::array();
  for (const json& entry : entries) {
    if (entry.value("parent", 0u) != parent || entry.at("kind") == "left_out") continue;
    json one = entry;
    one["children"] = found_by(entries, entry.at("id"));
    found.push_back(std::move(one));
  }
  return found;
}

/// How far two values are from each other: numbers by their difference, texts and counts by being equal. Fields that are only in the
/// second do not count.
double distance(const json& wanted, const json& found) {
  if (wanted.is_number() && found.is_number()) return std::abs(wanted.get<double>() - found.get<double>());
  if (wanted.is_array()) {
    // Points may have a score more than the exporter gives.
    const bool is_point = found.is_array() && wanted.size() == 2 && found.size() == 3 && wanted[0].is_number();
    if (!found.is_array() || (found.size() != wanted.size() && !is_point)) return INFINITY;
    double most = 0;
    for (std::size_t i = 0; i < wanted.size() && most < 100; ++i) most = std::max(most, distance(wanted[i], found[i]));
    return most;
  }
  if (wanted.is_object()) {
    double most = 0;
    for (const auto& [key, value] : wanted.items()) {
      if (!found.contains(key)) return INFINITY;
      // Scores are compared a hundred times as strictly as pixels.
      most = std::max(most, distance(value, found[key]) * (key == "score" ? 100 : 1));
    }
    return most;
  }
  return wanted == found ? 0 : INFINITY;
}

float reader_width(const json& one) { return one.at("input")[0]; }

void check_case(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename().string());
  std::ifstream file(path);
  const json one = json::parse(file);
  std::vector<Tensor> outputs;
  for (const json& output : one.at("outputs")) outputs.push_back(tensor_of(output, path.parent_path()));
  vision::ResultReader reader(options_of(one), "m");
  metadata::Collection all;
  reader.read(outputs, all);
  const json found = found_by(entries_of(all), metadata::kFrame), &wanted = one.at("expected");
  const std::size_t slack = one.value("slack", 0u);  // Where the exporter's program rounds what it compares.
  EXPECT_LE(found.size(), wanted.size() + slack);
  EXPECT_GE(found.size() + slack, wanted.size());
  EXPECT_GE(wanted.size(), one.value("least", 1u)) << "the case shows nothing";
  const double tolerance = one.value("tolerance", 0.05);
  std::vector<bool> is_taken(found.size(), false);
  std::size_t missing = 0;
  for (const json& each : wanted) {
    std::size_t best = found.size();
    double least = INFINITY;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double apart = is_taken[i] ? INFINITY : distance(each, found[i]);
      if (apart < least) best = i, least = apart;
    }
    if (least <= tolerance)
      is_taken[best] = true;
    else if (++missing > slack && missing <= slack + 3)
      ADD_FAILURE() << "not found: " << each.dump().substr(0, 600) << "\nnearest at " << least << ": "
                    << (best < found.size() ? found[best].dump().substr(0, 600) : "none");
  }
  EXPECT_LE(missing, slack) << "of " << wanted.size();
}

std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(DecoderCases, SmallOnesAreAsTheirExportersSay) {
  const char* const folder = std::getenv("TENON_DECODER_SMALL_CASES");
  ASSERT_TRUE(folder);
  const auto paths = cases_in(folder);
  EXPECT_GE(paths.size(), 10u);
  for (const auto& path : paths) check_case(path);
}

/// Whether each number in it is one: JSON has null for the others.
bool has_numbers_only(const json& value) {
  if (value.is_null()) return false;
  return !value.is_structured() || std::all_of(value.begin(), value.end(), has_numbers_only);
}

TEST(DecoderCases, DamagedValuesNeverBecomeResults) {
  const float odd[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 0.9f, 1, -1, 5000, 0.5f};
  const char* const folder = std::getenv("TENON_DECODER_SMALL_CASES");
  ASSERT_TRUE(folder);
  for (const auto& path : cases_in(folder)) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path);
    const json one = json::parse(file);
    for (std::size_t shift = 0; shift < 2 * std::size(odd); ++shift) {
      std::vector<Tensor> outputs;
      for (const json& output : one.at("outputs")) {
        outputs.push_back(tensor_of(output, path.parent_path()));
        if (outputs.back().element_type() != ElementType::kF32) continue;
        auto* values = outputs.back().data<float>();
        // All values are damaged, or some are.
        for (std::size_t i = 0; i < outputs.back().element_count(); i += 1 + shift % 2 * 4)
          values[i] = odd[(i * 7 + i / 7 + shift / 2) % std::size(odd)];
      }
      vision::ResultReader reader(options_of(one), "m");
      metadata::Collection all;
      try {
        reader.read(outputs, all);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
        continue;
      }
      for (const auto& object : all.all<metadata::Detection>()) {
        EXPECT_TRUE(object->score >= 0 && object->score <= 1) << object->json();
        EXPECT_TRUE(has_numbers_only(json::parse("{" + object->json() + "}"))) << object->json();
        EXPECT_GE(object->box.x1, 0);
        EXPECT_LE(object->box.x2, static_cast<float>(reader_width(one))) << object->json();
      }
      for (const auto& each : all.all<metadata::Classification>())
        EXPECT_TRUE(each->score >= 0 && each->score <= 1) << each->json();
    }
  }
}

TEST(DecoderCases, OutputsThatDoNotFitAreNamedWithWhatIsExpected) {
  for (const vision::DecoderType* type : vision::decoder_types()) {
    SCOPED_TRACE(type->name);
    vision::DecodeOptions options;
    options.model_type = type->name;
    options.input_width = 64, options.input_height = 32;
    options.parameters =
        type->name == "Hierarchical"
            ? std::map<std::string, std::string>{{"hierarchical_config", R"({"cls_heads_info":{"all_groups":[["a","b"]],
    "num_multiclass_heads":1,"head_idx_to_logits_range":{"0":[0,2]},"num_single_label_classes":2,"num_multilabel_classes":0,
    "label_to_idx":{"a":0,"b":1}},"label_tree_edges":[]})"}}
            : std::map<std::string, std::string>();
    vision::ResultReader reader(options, "m");
    metadata::Collection all;
    const std::vector<Tensor> none, odd{Tensor(ElementType::kF32, {3, 1, 2, 5, 7, 2})},
        whole{Tensor(ElementType::kI64, {1, 9, 9})}, empty{Tensor()};
    for (const auto& outputs : {none, odd, whole, empty}) {
      if (type->name == "Segmentation" && &outputs == &whole) continue;
      try {
        reader.read(outputs, all);
        EXPECT_EQ(type->name, "Segmentation");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInvalidArgument);
        EXPECT_THAT(error.what(), ::testing::HasSubstr(type->name)) << error.what();
        EXPECT_THAT(error.what(), ::testing::HasSubstr(outputs.empty() ? "there are: none" : "there are: "))
            << error.what();
      }
    }
    options.parameters["no_such"] = "1";
    EXPECT_THROW(vision::ResultReader(options, "m"), Error);
  }
}

TEST(DecoderCases, EmptyOutputsAreNotTakenForOthers) {
  vision::DecodeOptions options;
  options.model_type = "RF-DETR";
  options.input_width = options.input_height = 64;
  const auto filled = [](const Shape& shape, float value) {
    Tensor made(ElementType::kF32, shape);
    std::fill_n(made.data<float>(), made.element_count(), value);
    return made;
  };
  const std::vector<Tensor> outputs{filled({1, 2, 4}, 0.5f), filled({1, 2, 3}, 2), filled({1, 2, 0, 4}, 0)};
  metadata::Collection all;
  vision::ResultReader(options, "m").read(outputs, all);
  EXPECT_FALSE(all.all<metadata::Detection>().empty());
  EXPECT_TRUE(all.all<metadata::Segmentation>().empty());
}

TEST(DecoderCases, GridsNeedTheSizeOfTheInput) {
  const std::vector<TensorInfo> heads(3, TensorInfo{ElementType::kF32, {1, 255, 13, 13}, {}});
  const std::vector<std::string> fitting = vision::decoders_that_fit({}, heads);
  EXPECT_EQ(std::count(fitting.begin(), fitting.end(), "YOLOv3"), 0);
}

TEST(DecoderCases, DescriptionsOfClassesThatLieAreRefused) {
  const std::string most = std::to_string(std::numeric_limits<std::size_t>::max());
  for (const auto& [range, first] : {std::pair{"[" + most + ",1]", std::string("2")}, {std::string("[0,2]"), most}}) {
    vision::DecodeOptions options;
    options.model_type = "Hierarchical";
    options.parameters["hierarchical_config"] =
        R"({"cls_heads_info":{"all_groups":[["a","b"],["c"]],"num_multiclass_heads":1,"head_idx_to_logits_range":{"0":)" +
        range + R"(},"num_single_label_classes":)" + first +
        R"(,"num_multilabel_classes":1,"label_to_idx":{"a":0,"b":1,"c":2}},"label_tree_edges":[]})";
    EXPECT_THROW(vision::ResultReader(options, "m"), Error) << range << " " << first;
  }
}

#ifdef TENON_HAS_DECODER_EXAMPLE
TEST(DecoderTypes, ModulesAreLoadedForNamesThatAreNotKnown) {
  vision::DecodeOptions options;
  options.model_type = "centres";
  options.parameters = {{"scale", "2"}};
  options.input_width = 64, options.input_height = 32;
  Tensor rows(ElementType::kF32, {1, 3, 4});
  const float values[] = {0.5f, 0.5f, 0.25f, 0.9f, 0.5f, 0.5f, 0.25f, 0.8f, 0.5f, 0.5f, 0.25f, NAN};
  std::copy(std::begin(values), std::end(values), rows.data<float>());
  const auto found = vision::detections(rows, options);
  ASSERT_EQ(found.size(), 1u) << "the second is the same object, the third is damaged";
  EXPECT_EQ(found[0].box, (vision::Box{16, 0, 48, 32}));
  EXPECT_EQ(found[0].label, "thing");
}
#endif

TEST(DecoderTypes, ProgramsAddTheirOwn) {
  vision::DecoderType type;
  type.name = "OneThing";
  EXPECT_THROW(vision::register_decoder(type), Error) << "it makes nothing";
  type.fits = [](const vision::DecodeOptions&, std::span<const TensorInfo>) { return true; };
  type.make = [](const vision::DecodeOptions&, const vision::DecoderSettings& settings) {
    struct Nothing final : vision::ResultDecoder {
      bool read(const vision::DecodeOptions&, std::span<const Tensor>, const vision::ResultTarget& target) override {
        target.into.add(metadata::Classification{"thing", 0, 1, target.model}, target.parent);
        return true;
      }
    };
    EXPECT_EQ(settings.numbers("sizes"), (std::vector<double>{1, 2.5}));
    return std::make_unique<Nothing>();
  };
  type.parameters = {{"sizes", "1, 2.5", "some numbers"}};
  vision::register_decoder(type);
  vision::DecodeOptions options;
  options.model_type = "ONETHING";
  options.input_width = options.input_height = 8;
  vision::ResultReader reader(options, "m");
  metadata::Collection all;
  reader.read({}, all);
  EXPECT_EQ(all.first<metadata::Classification>()->label, "thing");
  EXPECT_TRUE(all.first<vision::LeftOut>());
  EXPECT_THROW(vision::Decoder{options}, Error) << "it has neither objects nor classes";
  type.name = "another";
  type.other_names = {"yolox"};
  EXPECT_THROW(vision::register_decoder(type), Error) << "that name is taken";
}

TEST(DecoderCases, LargeOnesAreAsTheirExportersSay) {
  const char* const folder = std::getenv("TENON_DECODER_CASES");
  if (!folder) GTEST_SKIP() << "./dev check decoders writes them, with the exporters' packages";
  for (const auto& path : cases_in(folder)) check_case(path);
}

}  // namespace decoder_cases_test
