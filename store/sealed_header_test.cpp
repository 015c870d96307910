// SPDX-License-Identifier: Apache-2.0
// Sealed headers: every damaged byte is detected, and reported with the format's error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/store/testing/reseal.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::store {
namespace {

using ::testing::HasSubstr;

struct Fields {
  std::uint64_t answer;
  Section part;
};
using Header = Sealed<Fields>;
constexpr std::string_view kBody = "what lies behind the header";

Format format() {
  Format format{.magic = "TENONTST", .version = 3, .minor = 1, .damaged = [](const std::string& what) {
                  throw Error(Code::kDataLoss, "test: damaged: " + what);
                }};
  format.foreign = [] { throw Error(Code::kInvalidArgument, "test: foreign"); };
  format.other_version = [](const SealStart& found) {
    throw Error(Code::kFailedPrecondition,
                "test: version " + std::to_string(found.version) + "." + std::to_string(found.minor));
  };
  return format;
}

std::string sample() {
  Header header{};
  header.fields = {42, {sizeof header, kBody.size()}};
  header.start.total = sizeof header + kBody.size();
  header.start.content = content_hash(kBody.data(), kBody.size());
  seal(header, format());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(kBody);
}

std::string_view read(std::string_view bytes) {
  const Format known = format();
  const auto header = unseal<Fields>(bytes, known);
  check_total(header.start, sizeof header, bytes.size(), known.damaged);
  if (!lies_within(header.fields.part, sizeof header, header.start.total)) say_damaged(known.damaged, "outside");
  check_content(header.start, sizeof header, bytes, known.damaged);
  EXPECT_EQ(header.fields.answer, 42u);
  return header.fields.part.in(bytes);
}

TEST(SealedHeader, IsReadBackAndKnowsItsEnd) {
  EXPECT_EQ(read(sample()), kBody);
  EXPECT_EQ(read(sample() + "another's notes"), kBody);
}

TEST(SealedHeader, NoticesEveryChangedByteAndEveryCut) {
  const std::string whole = sample();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 0x80}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const Code expected = i < 8 ? Code::kInvalidArgument : i < 16 ? Code::kFailedPrecondition : Code::kDataLoss;
      EXPECT_THAT(error_of([&] { read(changed); }, expected), HasSubstr("test: ")) << i;
    }
    EXPECT_THAT(error_of([&] { read(std::string_view(whole).substr(0, i)); }, Code::kDataLoss),
                HasSubstr(std::to_string(i) + " bytes"));
  }
}

TEST(SealedHeader, NamesWhatItFoundAndWhatItExpects) {
  std::string old = sample();
  old[8] = 2;
  EXPECT_THAT(error_of([&] { read(old); }, Code::kFailedPrecondition), HasSubstr("version 2.1"));
  // A format without a specific error reports damage.
  Format terse = format();
  terse.foreign = nullptr;
  terse.other_version = nullptr;
  EXPECT_THAT(error_of([&] { unseal<Fields>(old, terse); }, Code::kDataLoss), HasSubstr("format 2, expected is 3"));
  old[0] = '?';
  EXPECT_THAT(error_of([&] { unseal<Fields>(old, terse); }, Code::kDataLoss), HasSubstr("TENONTST"));
}

TEST(SealedHeader, WithItsHashesMadeRightItsBoundsAreJudged) {
  const auto changed = [](auto change) {
    std::string bytes = sample();
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    reseal(bytes, sizeof header);
    return bytes;
  };
  EXPECT_EQ(read(changed([](Header&) {})), kBody);
  EXPECT_EQ(read(changed([](Header& header) { header.start.content = {}; })), kBody);
  EXPECT_THAT(error_of([&] { read(changed([](Header& header) { header.start.total += 1; })); }, Code::kDataLoss),
              HasSubstr("bytes of"));
  EXPECT_THAT(error_of([&] { read(changed([](Header& header) { header.start.total = 3; })); }, Code::kDataLoss),
              HasSubstr("it names 3 bytes"));
  const auto with_part = [&](Section part) { return changed([part](Header& header) { header.fields.part = part; }); };
  const std::uint64_t end = sample().size(), huge = ~std::uint64_t{0};
  EXPECT_EQ(read(with_part({end, 0})), "");
  for (const Section part : {Section{sizeof(Header) - 1, 1}, Section{sizeof(Header), end}, Section{end + 1, 0},
                             Section{huge, 2}, Section{end, huge}, Section{sizeof(Header) + 1, huge}})
    EXPECT_THAT(error_of([&] { read(with_part(part)); }, Code::kDataLoss), HasSubstr("outside"));
  EXPECT_TRUE(lies_within({128, 3}, 64, 256, 64));
  EXPECT_FALSE(lies_within({96, 3}, 64, 256, 64));
  EXPECT_EQ(aligned(1, 64), 64u);
  EXPECT_EQ(aligned(128, 64), 128u);
}

}  // namespace
}  // namespace tenon::store
