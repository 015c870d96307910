// SPDX-License-Identifier: Apache-2.0
// Files: what is no file is refused, and writes appear whole or not at all. platform/ tests what each system has beside files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/file_stream.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/testing/in_a_folder.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Files : public tenon_test::InAFolder {};

TEST_F(Files, AFolderIsNoFile) {
  const auto says =
      AllOf(HasSubstr(folder.string()), HasSubstr("a directory"), HasSubstr("a regular file is expected"));
  EXPECT_THAT(error_of([&] { map_file(folder); }, Code::kInvalidArgument), says);
  EXPECT_THAT(error_of([&] { read_file(folder); }, Code::kInvalidArgument), says);
}

TEST_F(Files, ReadingTakesTheBytesOfTheMoment) {
  const fs::path path = folder / "f";
  std::ofstream(path) << "before";
  const Tensor bytes = read_file(path), none = (std::ofstream(folder / "empty"), read_file(folder / "empty"));
  std::ofstream(path) << "after!";
  EXPECT_EQ(std::string(static_cast<const char*>(bytes.data()), bytes.size_bytes()), "before");
  EXPECT_EQ(none.size_bytes(), 0u);
}

TEST_F(Files, ANewFileAppearsWholeOrNotAtAll) {
  const fs::path path = folder / "target";
  {
    NewFile dropped(path);
    dropped.write("half", 4);
    EXPECT_EQ(names().size(), 1u);
    EXPECT_TRUE(NewFile::is_temporary(folder / names()[0])) << names()[0];
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_THAT(names(), ElementsAre());
  NewFile first(path), second(path, 0440);
  first.write("fi", 2);
  first.write("rst", 3);
  second.write_at("nd", 2, 4);
  second.write_at("seco", 4, 0);
  first.commit();
  EXPECT_EQ(text_of(path), "first");
  second.flush();
  second.commit();
  EXPECT_EQ(text_of(path), "second");
  EXPECT_THAT(names(), ElementsAre("target"));
  EXPECT_THAT(error_of([&] { NewFile(folder / "none" / "f"); }, Code::kNotFound),
              HasSubstr((fs::path("none") / "f").string()));
}

TEST_F(Files, NamesAreLookedUpInTheFolderThatWasOpened) {
  UniqueFd opened;
  ASSERT_FALSE(platform::open_folder(folder, opened));
  NewFile made(opened, folder / "target", 0600, Durability::kMachine);
  made.write("whole", 5);
  EXPECT_FALSE(NewFile::remove_if_abandoned(opened, made.temporary().string())) << "it is being written";
  made.commit();
  EXPECT_EQ(text_of(folder / "target"), "whole");
  std::error_code error;
  EXPECT_THAT(list_folder(opened, error), ElementsAre(fs::path("target")));
  { std::ofstream(folder / "target.0123456789abcdef.part") << "half"; }
  EXPECT_TRUE(NewFile::remove_if_abandoned(opened, "target.0123456789abcdef.part"));
  EXPECT_THAT(error_of([&] { NewFile(UniqueFd(), "target", 0600, Durability::kProcess); }, Code::kInvalidArgument),
              HasSubstr("not open"));
  UniqueFd none;
  EXPECT_TRUE(platform::open_folder(folder / "target", none)) << "it is a file";
}

TEST_F(Files, AFolderThatIsMissingIsAnErrorAndNoException) {
  std::error_code error;
  EXPECT_TRUE(list_folder(folder / "none", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  std::ofstream(folder / "one").put('1');
  EXPECT_FALSE(list_folder(folder, error).empty());
  EXPECT_FALSE(error);
}

TEST_F(Files, AFileThatAppearsReplacesTheOneThatHasItsName) {
  const fs::path path = folder / "target";
  std::ofstream(path) << "a longer text than the new one";
  NewFile made(path);
  made.write("new", 3);
  EXPECT_EQ(text_of(path), "a longer text than the new one");
  made.commit();
  EXPECT_EQ(text_of(path), "new");
  // Two names of one file are one file to UsedFiles.
  UsedFiles used;
  used.add_input(path.string(), "the input");
  EXPECT_THAT(error_of([&] { used.add_output(folder / "." / "target", "--out"); }, Code::kInvalidArgument),
              HasSubstr("they are one file"));
  used.add_output(folder / "other", "--out");
}

TEST_F(Files, AFileThatGrowsIsThereFromItsBeginning) {
  const fs::path path = folder / "lines";
  const auto add = [](const GrowingFile& file, const std::string& text) {
    std::size_t written = 0;
    EXPECT_FALSE(platform::write_at(file.fd(), text.data(), text.size(), file.size_bytes(), written));
  };
  {
    const GrowingFile first(path, GrowingFile::Place::kAnywhere);
    EXPECT_TRUE(first.is_regular());
    EXPECT_EQ(first.size_bytes(), 0u);
    add(first, "one\n");
    EXPECT_EQ(text_of(path), "one\n");
  }
  {
    const GrowingFile more(path, GrowingFile::Place::kEnd);
    EXPECT_EQ(more.size_bytes(), 4u);
    add(more, "two\n");
    EXPECT_EQ(text_of(path), "one\ntwo\n");
    // A line that was written in part is taken back.
    EXPECT_EQ(more.reset_to(4), 0);
  }
  const GrowingFile again(path, GrowingFile::Place::kAnywhere), other(path, GrowingFile::Place::kAnywhere);
  EXPECT_EQ(text_of(path), "one\n") << "opened, and not replaced";
  EXPECT_TRUE(again.try_lock());
  EXPECT_FALSE(other.try_lock());
  EXPECT_EQ(again.reset_to(0), 0);
  EXPECT_EQ(text_of(path), "");
  EXPECT_THAT(error_of([&] { GrowingFile(folder / "none" / "lines", GrowingFile::Place::kEnd); }, Code::kNotFound),
              HasSubstr("none"));
}

TEST_F(Files, AStreamIntoAFileAppearsWholeOrNotAtAll) {
  const fs::path path = folder / "target";
  {
    NewFileStream broken(path);
    broken << "half";
  }
  EXPECT_THAT(names(), ElementsAre());
  NewFileStream stream(path);
  const std::string large(std::size_t{3} << 20, 'x');
  stream << "begin " << 7 << ' ' << large;
  EXPECT_FALSE(fs::exists(path));
  stream.commit();
  EXPECT_EQ(text_of(path), "begin 7 " + large);
}

TEST_F(Files, AWriterThatIsStillAtWorkKeepsItsFile) {
  NewFile writing(folder / "target");
  const fs::path temporary = folder / names().at(0);
  EXPECT_FALSE(NewFile::remove_if_abandoned(temporary));
  writing.flush();
  EXPECT_FALSE(NewFile::remove_if_abandoned(temporary)) << "flushing must not let go of it";
  writing.commit();
  EXPECT_THAT(names(), ElementsAre("target"));
}

}  // namespace file_test
}  // namespace tenon
