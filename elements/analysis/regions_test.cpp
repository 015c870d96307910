// SPDX-License-Identifier: Apache-2.0
// The element "regions": what it adds to which frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace regions_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Given = std::map<std::string, std::string>;
using metadata::Box;

class Regions : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  static std::unique_ptr<TransformInplace> regions(const Given& given) {
    auto made = std::get<std::unique_ptr<TransformInplace>>(make_element("regions", given, {"add", nullptr}));
    made->open(0, {});
    return made;
  }
  static std::vector<metadata::Detection> added(TransformInplace& element, std::int64_t time_ns,
                                                std::uint32_t width = 100) {
    Frame frame = Frame::allocate({kGray8, width, 100});
    frame.set_timestamp_ns(time_ns);
    element.process(0, frame);
    std::vector<metadata::Detection> all;
    if (const auto known = metadata::find(frame))
      for (const auto& one : known->all<metadata::Detection>()) all.push_back(*one.value);
    return all;
  }
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  static std::string refusal(const Given& given) {
    return error_of([&] { regions(given); }, Code::kInvalidArgument);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("tenon_regions_" + std::to_string(::getpid()))).string();
};

TEST_F(Regions, FixedOnesForATime) {
  const auto element = regions(
      {{"boxes", R"([{"box": [10,20,50,60], "label": "gate", "from_s": 1, "to_s": 2}, {"box": [-9,0,500,9]}])"}});
  EXPECT_THAT(added(*element, 0), ElementsAre(metadata::Detection{{0, 0, 100, 9}, "", -1, 1, -1}));
  EXPECT_THAT(added(*element, 1'000'000'000), ElementsAre(metadata::Detection{{10, 20, 50, 60}, "gate", -1, 1, -1},
                                                          metadata::Detection{{0, 0, 100, 9}, "", -1, 1, -1}));
  EXPECT_EQ(added(*element, 2'000'000'000).size(), 1u);
  EXPECT_EQ(added(*element, kNoTimestamp).size(), 1u);
  const auto part = regions({{"boxes", R"([{"box": [0.5,0,1,1]}])"}, {"units", "fractions"}});
  EXPECT_EQ(added(*part, 0, 200)[0].box, (Box{100, 0, 200, 100}));
}

TEST_F(Regions, WhatJsonWroteComesBackByTime) {
  std::string lines;
  for (int i = 0; i < 5; ++i) {
    Frame frame = Frame::allocate({kGray8, 100, 100});
    frame.set_timestamp_ns(i * 40'000'000LL);
    metadata::of(frame).add(metadata::Detection{{10, 10, 20.5f, 30}, "cat", 3, 0.25f, i});
    metadata::of(frame).add(metadata::Classification{"day", 0, 1, "light"});
    lines = metadata::json_line(frame) + "\n" + lines;  // The last one first: times decide.
  }
  const auto element = regions({{"file", file(lines)}});
  EXPECT_THAT(added(*element, 80'000'000), ElementsAre(metadata::Detection{{10, 10, 20.5f, 30}, "cat", 3, 0.25f, 2}));
  EXPECT_EQ(added(*element, 95'000'000)[0].track_id, 2);
  EXPECT_EQ(added(*element, 10'000'000)[0].track_id, 0) << "the clock may go back";
  EXPECT_EQ(added(*element, 80'000'000, 200)[0].box, (Box{20, 10, 41, 30})) << "the picture has another size";
  EXPECT_THAT(added(*element, 200'000'000), IsEmpty());
  EXPECT_THAT(added(*element, -50'000'000), IsEmpty());
  EXPECT_THAT(added(*element, kNoTimestamp), IsEmpty());
}

TEST_F(Regions, LinesInTheirOrder) {
  const std::string lines =
      "{\"metadata\":[{\"kind\":\"detection\",\"box\":[0,0,1,1]}]}\n\n{\"metadata\":[]}\n{\"metadata\":[{\"kind\":"
      "\"detection\",\"box\":[0,0,2,2]}]}";
  const auto once = regions({{"file", file(lines)}, {"match", "order"}}),
             again = regions({{"file", path_}, {"match", "loop"}});
  std::vector<std::size_t> counts, looped;
  for (int i = 0; i < 6; ++i)
    counts.push_back(added(*once, 0).size()), looped.push_back(added(*again, kNoTimestamp).size());
  EXPECT_THAT(counts, ElementsAre(1, 0, 1, 0, 0, 0));
  EXPECT_THAT(looped, ElementsAre(1, 0, 1, 1, 0, 1));
}

TEST_F(Regions, SaysWhatIsWrong) {
  EXPECT_THAT(refusal({}), HasSubstr("'add' (regions): there are no regions; give them in 'boxes' or 'file'"));
  EXPECT_THAT(
      refusal({{"boxes", "[{\"box\":\n [0,0,1}]"}}),
      HasSubstr("parameter 'boxes': is not JSON at line 2, column 8: unexpected '}'; expected ']'; it must be a "
                "list of regions: [{\"box\": [0,0,640,360], \"label\": \"gate\"}]"));
  EXPECT_THAT(refusal({{"boxes", R"([{"label": "x"}])"}}), HasSubstr("parameter 'boxes': /0: has no box"));
  EXPECT_THAT(refusal({{"boxes", R"([{"box": [1,2,3]}])"}}), HasSubstr("/0/box: must be four numbers"));
  EXPECT_THAT(refusal({{"boxes", R"([{"box": [5,2,3,4]}])"}}), HasSubstr("/0/box: has no area"));
  EXPECT_THAT(refusal({{"boxes", R"([{"box": [1,2,3,4], "from_s": 5, "to_s": 1}])"}}), HasSubstr("/0: is in no frame"));
  EXPECT_THAT(refusal({{"file", file("{\"metadata\":[]}")}}), HasSubstr("line 1: has no timestamp_ns; match=order"));
  EXPECT_THAT(refusal({{"file", file("{\"timestamp_ns\":1,\"metadata\":[]}\n{]")}}), HasSubstr("line 2: "));
  EXPECT_THAT(refusal({{"file", file("[1]")}}), HasSubstr("line 1: is no line of the element 'json'"));
  EXPECT_THAT(refusal({{"file", file("{\"timestamp_ns\":1,\"metadata\":[{\"kind\":\"detection\",\"box\":[1,1]}]}")}}),
              HasSubstr("line 1: /metadata/0/box: must be four numbers"));
  EXPECT_THAT(error_of([] { regions({{"file", "/nowhere/lines"}}); }, Code::kNotFound), HasSubstr("cannot be read"));
}

}  // namespace regions_test
}  // namespace tenon::elements
