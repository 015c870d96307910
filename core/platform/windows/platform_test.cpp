// SPDX-License-Identifier: Apache-2.0
// What Windows has beside files: NT handles, sections, devices and pipes by name, access lists, modules, and processes that end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/handle.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/platform/windows/api.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace windows_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::size_t open_handles() { return platform::open_descriptor_count(); }

bool is_open(void* handle) {
  DWORD flags = 0;
  return ::GetHandleInformation(handle, &flags);
}

/// Runs one test of this program in a process of its own, which finds `value` in its environment. @return its exit code.
DWORD run_again(const std::wstring& test, const wchar_t* variable, const std::wstring& value) {
  std::wstring line =
      L"\"" + platform::module_of(reinterpret_cast<const void*>(&open_handles)).native() + L"\" --gtest_filter=" + test;
  STARTUPINFOW start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION child{};
  ::SetEnvironmentVariableW(variable, value.c_str());
  const bool runs =
      ::CreateProcessW(nullptr, line.data(), nullptr, nullptr, FALSE, 0, nullptr, nullptr, &start, &child);
  ::SetEnvironmentVariableW(variable, nullptr);
  EXPECT_TRUE(runs) << ::GetLastError();
  const UniqueHandle process(child.hProcess), thread(child.hThread);
  DWORD code = ~DWORD{0};
  EXPECT_EQ(::WaitForSingleObject(process.get(), 60'000), WAIT_OBJECT_0);
  EXPECT_TRUE(::GetExitCodeProcess(process.get(), &code));
  return code;
}

TEST(UniqueHandle, ClosesOnceAndDuplicates) {
  void* const event = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  {
    UniqueHandle one(event);
    UniqueHandle copy = one.duplicate();
    EXPECT_NE(copy.get(), one.get());
    ::SetEvent(copy.get());
    EXPECT_EQ(::WaitForSingleObject(one.get(), 0), WAIT_OBJECT_0) << "both are one event";
    UniqueHandle moved = std::move(one);
    EXPECT_FALSE(one);
    EXPECT_TRUE(is_open(event));
    EXPECT_EQ(UniqueHandle::from_number(UniqueHandle::number_of(moved.get())), moved.get());
  }
  EXPECT_FALSE(is_open(event));
  EXPECT_FALSE(UniqueHandle(INVALID_HANDLE_VALUE));
  EXPECT_EQ(UniqueHandle::number_of(nullptr), -1);
  EXPECT_EQ(UniqueHandle::from_number(-1), nullptr);
  EXPECT_THAT(error_of([&] { UniqueHandle::duplicate(event); }, Code::kInvalidArgument), HasSubstr("not open"));
  EXPECT_THAT(error_of([&] { UniqueHandle::duplicate(nullptr); }, Code::kInvalidArgument), HasSubstr("not open"));
}

TEST(Section, IsOneMemoryForAllThatMapIt) {
  const std::size_t before = open_handles();
  {
    const Ref<SharedMemory> memory = SharedMemory::allocate(5000);
    EXPECT_EQ(memory->size_bytes(), 8192u);
    EXPECT_EQ(memory->fd_kind(), FdKind::kNtSection);
    EXPECT_EQ(UniqueHandle::number_of(UniqueHandle::from_number(memory->borrow_fd())), memory->borrow_fd());
    const Ref<SharedMemory> again = SharedMemory::import(memory->export_fd(), 5000);
    EXPECT_NE(again->host(), memory->host());
    std::strcpy(static_cast<char*>(memory->host()) + 6000, "written here");
    EXPECT_STREQ(static_cast<const char*>(again->host()) + 6000, "written here");
    EXPECT_EQ(again->identity(), memory->identity()) << "what runs on one runs on the other";
    EXPECT_EQ(&again->hazards(), &memory->hazards());
    EXPECT_FALSE(SharedMemory::allocate(1)->identity() == memory->identity());
    const auto wanted = [] {
      Requirements all;
      all.size_bytes = 100;
      all.fd = FdKind::kNtSection;
      return all;
    }();
    EXPECT_EQ(host_context()->allocate(wanted)->fd_kind(), FdKind::kNtSection);
    Requirements memfd = wanted;
    memfd.fd = FdKind::kMemfd;
    EXPECT_THAT(error_of([&] { host_context()->allocate(memfd); }, Code::kUnimplemented), HasSubstr("NT section"));
  }
  EXPECT_EQ(open_handles(), before);
}

TEST(Section, IsMappedForReadingWhereItsHandleAllowsNoMore) {
  const Ref<SharedMemory> memory = SharedMemory::allocate(4096);
  void* reader = nullptr;
  ASSERT_TRUE(::DuplicateHandle(::GetCurrentProcess(), UniqueHandle::from_number(memory->borrow_fd()),
                                ::GetCurrentProcess(), &reader, FILE_MAP_READ, FALSE, 0));
  const Ref<SharedMemory> read = SharedMemory::import(UniqueHandle(reader));
  EXPECT_TRUE(read->read_only());
  static_cast<char*>(memory->host())[5] = 42;
  EXPECT_EQ(static_cast<const char*>(read->host())[5], 42);
}

TEST(Section, IsOneMemoryForTwoProcesses) {
  // This test runs itself again; the second process takes the section from the first.
  constexpr const wchar_t* kVariable = L"TENON_TEST_SECTION";
  if (const wchar_t* const given = ::_wgetenv(kVariable)) {
    std::wistringstream text(given);
    std::uint64_t process = 0;
    int number = 0;
    text >> process >> number;
    UniqueHandle taken = UniqueHandle::of_process(process, number);
    const Ref<SharedMemory> memory = SharedMemory::import(std::move(taken), 5000);
    const bool is_right = std::strcmp(static_cast<const char*>(memory->host()) + 4500, "asked") == 0;
    std::strcpy(static_cast<char*>(memory->host()) + 4500, "answered");
    std::_Exit(is_right ? 7 : 8);
  }
  const std::size_t before = open_handles();
  {
    const Ref<SharedMemory> memory = SharedMemory::allocate(5000);
    std::strcpy(static_cast<char*>(memory->host()) + 4500, "asked");
    const std::wstring where = std::to_wstring(platform::process_id()) + L" " + std::to_wstring(memory->borrow_fd());
    ASSERT_EQ(run_again(L"Section.IsOneMemoryForTwoProcesses", kVariable, where), 7u);
    EXPECT_STREQ(static_cast<const char*>(memory->host()) + 4500, "answered");
    const Ref<SharedMemory> own =
        SharedMemory::import(UniqueHandle::of_process(platform::process_id(), memory->borrow_fd()));
    EXPECT_EQ(own->identity(), memory->identity());
  }
  EXPECT_EQ(open_handles(), before);
}

TEST(UniqueHandle, OfAnotherProcessIsRefusedWithTheReason) {
  const std::uint64_t self = platform::process_id();
  EXPECT_THAT(error_of([&] { UniqueHandle::of_process(self, 0x7ffffffc); }, Code::kInvalidArgument),
              HasSubstr("of process " + std::to_string(self) + ": it is not open"));
  EXPECT_THAT(error_of([&] { UniqueHandle::of_process(self, -1); }, Code::kInvalidArgument), HasSubstr("not open"));
  for (const std::uint64_t none : {std::uint64_t{0x7ffffff0}, std::uint64_t{1} << 40})
    EXPECT_THAT(error_of([&] { UniqueHandle::of_process(none, 4); }, Code::kNotFound), HasSubstr("cannot be opened"));
}

TEST(Section, RefusesWhatIsNone) {
  UniqueHandle none, event(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
  EXPECT_THAT(error_of([&] { SharedMemory::import(std::move(none)); }, Code::kInvalidArgument), HasSubstr("not open"));
  void* const kept = event.get();
  EXPECT_THAT(error_of([&] { SharedMemory::import(std::move(event)); }, Code::kInvalidArgument),
              HasSubstr("it is no section"));
  EXPECT_EQ(event.get(), kept) << "it is still the caller's";
  EXPECT_TRUE(is_open(kept));
  UniqueHandle small = SharedMemory::allocate(100)->export_fd();
  EXPECT_THAT(error_of([&] { SharedMemory::import(std::move(small), 1 << 20); }, Code::kOutOfRange),
              HasSubstr("1048576 are needed"));
  EXPECT_TRUE(small);
  void* const closed = small.get();
  small.reset();
  UniqueHandle late(closed);
  EXPECT_THAT(error_of([&] { SharedMemory::import(std::move(late)); }, Code::kInvalidArgument), HasSubstr("not open"));
  static_cast<void>(late.release());
  error_of([] { SharedMemory::allocate(0); }, Code::kInvalidArgument);
  error_of([] { SharedMemory::allocate(std::size_t{1} << 60); }, Code::kResourceExhausted);
}

TEST(WindowsFiles, DevicesAndPipesAreNoFiles) {
  EXPECT_THAT(error_of([] { map_file("NUL"); }, Code::kInvalidArgument), HasSubstr("a character device"));
  const std::string name = "\\\\.\\pipe\\tenon_test_" + std::to_string(platform::process_id());
  const UniqueHandle pipe(
      ::CreateNamedPipeA(name.c_str(), PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, 1, 512, 512, 0, nullptr));
  ASSERT_TRUE(pipe);
  EXPECT_THAT(error_of([&] { map_file(name); }, Code::kInvalidArgument), HasSubstr("a FIFO"));
}

TEST(WindowsFiles, AFileIsReplacedAndItsNameHasLettersOfAnyScript) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / L"gr\u00fc\u00df";
  std::ofstream(path) << "before";
  EXPECT_EQ(RegularFile(path).size_bytes(), 6u);
  NewFile made(path);
  made.write("after!!", 7);
  const std::size_t handles = open_handles();
  made.commit();
  EXPECT_EQ(open_handles(), handles - 1) << "what was committed is closed";
  EXPECT_EQ(read_file(path).size_bytes(), 7u);
  EXPECT_THAT(error_of([&] { map_file(folder.path() / "none"); }, Code::kNotFound), HasSubstr("CreateFileW gave 2"));
}

TEST(WindowsFiles, TrustIsReadFromTheAccessList) {
  const TemporaryFolder folder;
  ASSERT_FALSE(platform::make_private_folder(folder.path() / "own"));
  UniqueFd opened;
  platform::FileTrust trust;
  ASSERT_FALSE(platform::open_folder(folder.path() / "own", opened));
  ASSERT_FALSE(platform::trust_of(opened.get(), trust));
  EXPECT_TRUE(trust.is_own) << trust.owner << " is not " << trust.user;
  EXPECT_FALSE(trust.others_may_write);
  EXPECT_THAT(trust.owner, HasSubstr("S-1-"));
  EXPECT_TRUE(platform::exists(platform::make_private_folder(folder.path() / "own")));
}

TEST(WindowsFiles, WhatAKilledWriterLeftIsRemoved) {
  // This test runs itself again; the second process is ended while it writes.
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "target";
  if (const wchar_t* const written = ::_wgetenv(L"TENON_TEST_UNFINISHED")) {
    NewFile unfinished(written);
    unfinished.write("half", 4);
    ::TerminateProcess(::GetCurrentProcess(), 9);
  }
  ASSERT_EQ(run_again(L"WindowsFiles.WhatAKilledWriterLeftIsRemoved", L"TENON_TEST_UNFINISHED", target.native()), 9u);
  std::error_code error;
  ASSERT_EQ(list_folder(folder.path(), error).size(), 1u);
  NewFile running(target);
  NewFile::remove_abandoned(target);
  EXPECT_EQ(list_folder(folder.path(), error).size(), 1u) << "the one that is being written";
  running.commit();
}

TEST(WindowsModules, AreFoundLoadedAndAskedForSymbols) {
  // The address of a function would be that of this program's jump to it; a table of virtual functions lies in the library.
  const fs::path core = platform::module_of(*reinterpret_cast<const void* const*>(host_context().impl().get()));
  EXPECT_EQ(core.extension(), ".dll");
  EXPECT_TRUE(fs::exists(core));
  std::string why;
  void* const library = platform::load_module(core, true, why);
  ASSERT_NE(library, nullptr) << why;
  EXPECT_EQ(platform::symbol_of(library, "no such symbol"), nullptr);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "libtenon_x_one.dll") << "no library";
  const auto found = find_modules("libtenon_x_", {folder.path()});
  ASSERT_EQ(found.count("one"), 1u);
  EXPECT_EQ(platform::load_module(found.at("one"), false, why), nullptr);
  EXPECT_THAT(why, ::testing::AllOf(HasSubstr("libtenon_x_one.dll"), HasSubstr("LoadLibraryExW gave")));
  EXPECT_FALSE(module_folders("TENON_NO_SUCH_VARIABLE", reinterpret_cast<const void*>(&platform::process_id)).empty());
}

}  // namespace windows_test
}  // namespace tenon
