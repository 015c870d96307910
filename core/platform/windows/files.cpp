// SPDX-License-Identifier: Apache-2.0
// Files on Windows: handles behind descriptors of the C library. Names in a folder are looked up by the path that the folder's handle has at
// the moment, so that a folder that was renamed is still found.
#include <tenon/core/platform/files.hpp>

#include <tenon/core/platform/windows/api.hpp>
// After windows.h, whose types they use.
#include <aclapi.h>
#include <ntsecapi.h>
#include <sddl.h>

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace platform {
namespace detail {

inline constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

TENON_INLINE Failure failed(const char* call) { return {call, static_cast<int>(::GetLastError())}; }
TENON_INLINE HANDLE handle_of(int fd) {
  return fd < 0 ? INVALID_HANDLE_VALUE : reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
}

/// A handle for the duration of one function.
class Opened {
 public:
  explicit Opened(HANDLE handle) : handle_(handle) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (*this) ::CloseHandle(handle_);
  }
  explicit operator bool() const { return handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const { return handle_; }
  HANDLE release() { return std::exchange(handle_, INVALID_HANDLE_VALUE); }

 private:
  HANDLE handle_;
};

/// The handle as a descriptor, which then owns it.
TENON_INLINE Failure to_descriptor(Opened& opened, int flags, UniqueFd& fd) {
  if (!opened) return failed("CreateFileW");
  fd.reset(::_open_osfhandle(reinterpret_cast<intptr_t>(opened.get()), flags | _O_BINARY | _O_NOINHERIT));
  if (!fd) return {"_open_osfhandle", ERROR_TOO_MANY_OPEN_FILES};
  static_cast<void>(opened.release());
  return {};
}

/// The path of `name` in `folder`. Empty: GetLastError() has the reason.
TENON_INLINE std::wstring path_in(int folder, const std::filesystem::path& name) {
  if (folder == kWorkingFolder) return name.native();
  std::wstring path(512, L'\0');
  for (;;) {
    const DWORD length = ::GetFinalPathNameByHandleW(handle_of(folder), path.data(), static_cast<DWORD>(path.size()),
                                                     FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    if (length == 0) return {};
    const bool fits = length < path.size();
    path.resize(length);
    if (fits) return name.empty() ? path : path + L'\\' + name.native();
  }
}

TENON_INLINE HANDLE open(const std::wstring& path, DWORD access, DWORD flags) {
  return ::CreateFileW(path.c_str(), access, kShareAll, nullptr, OPEN_EXISTING, flags, nullptr);
}

TENON_INLINE std::int64_t nanoseconds(const LARGE_INTEGER& time) {
  constexpr std::int64_t kFrom1601To1970 = 116'444'736'000'000'000;
  return (time.QuadPart - kFrom1601To1970) * 100;
}

TENON_INLINE Failure status_from(HANDLE handle, FileStatus& status) {
  status = {};
  const DWORD type = ::GetFileType(handle);
  if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) {
    status.type = type == FILE_TYPE_CHAR ? FileType::kCharacterDevice : FileType::kFifo;
    return {};
  }
  FILE_BASIC_INFO basic{};
  FILE_STANDARD_INFO standard{};
  BY_HANDLE_FILE_INFORMATION place{};
  if (!::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) ||
      !::GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard))
    return failed("GetFileInformationByHandleEx");
  if (!::GetFileInformationByHandle(handle, &place)) return failed("GetFileInformationByHandle");
  if (basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
    status.type = FileType::kUnknown;  // A link that was opened as one.
  else
    status.type = standard.Directory ? FileType::kDirectory : FileType::kRegular;
  status.size_bytes = static_cast<std::uint64_t>(standard.EndOfFile.QuadPart);
  status.device = place.dwVolumeSerialNumber;
  status.inode = std::uint64_t{place.nFileIndexHigh} << 32 | place.nFileIndexLow;
  status.links = standard.DeletePending ? 0 : standard.NumberOfLinks;
  status.used_ns = nanoseconds(basic.LastAccessTime);
  status.modified_ns = nanoseconds(basic.LastWriteTime);
  status.changed_ns = nanoseconds(basic.ChangeTime);
  return {};
}

TENON_INLINE DWORD link_flags(Links links) { return links == Links::kRefuse ? FILE_FLAG_OPEN_REPARSE_POINT : 0; }

TENON_INLINE Failure status_at(const std::wstring& path, Links links, FileStatus& status) {
  if (path.empty()) return {"GetFileAttributesW", ERROR_PATH_NOT_FOUND};
  const Opened file(open(path, FILE_READ_ATTRIBUTES, FILE_FLAG_BACKUP_SEMANTICS | link_flags(links)));
  return file ? status_from(file.get(), status) : failed("CreateFileW");
}

/// Where a byte is locked: behind the end of every file, because locks of Windows keep others from reading and writing.
TENON_INLINE OVERLAPPED lock_place() {
  OVERLAPPED place{};
  place.OffsetHigh = 0x7fffffff;
  return place;
}

TENON_INLINE OVERLAPPED place_of(std::uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

TENON_INLINE DWORD one_call(std::size_t size) { return static_cast<DWORD>(std::min<std::size_t>(size, 1u << 30)); }

/// Renames as POSIX does: readers keep the file that had the name. False before Windows 10, which brought that.
TENON_INLINE bool replace_open_file(const std::wstring& before, const std::wstring& after) {
  constexpr auto kRenameInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);  // FileRenameInfoEx
  const Opened file(open(before, DELETE | SYNCHRONIZE, 0));
  if (!file) return false;
  std::vector<std::byte> room(sizeof(FILE_RENAME_INFO) + after.size() * sizeof(wchar_t));
  auto& wanted = *reinterpret_cast<FILE_RENAME_INFO*>(room.data());
  wanted.Flags = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
  wanted.FileNameLength = static_cast<DWORD>(after.size() * sizeof(wchar_t));
  std::copy(after.begin(), after.end(), wanted.FileName);
  return ::SetFileInformationByHandle(file.get(), kRenameInfoEx, &wanted, static_cast<DWORD>(room.size()));
}

TENON_INLINE void mark_used(HANDLE file) {
  FILETIME now{};
  ::GetSystemTimeAsFileTime(&now);
  ::SetFileTime(file, nullptr, &now, nullptr);
}

TENON_INLINE Failure read_names(const std::wstring& folder, std::vector<std::filesystem::path>& names) {
  if (folder.empty()) return {"FindFirstFileW", ERROR_PATH_NOT_FOUND};
  WIN32_FIND_DATAW entry{};
  const HANDLE found = ::FindFirstFileW((std::filesystem::path(folder) / L"*").c_str(), &entry);
  if (found == INVALID_HANDLE_VALUE) return failed("FindFirstFileW");
  const std::unique_ptr<void, BOOL(WINAPI*)(HANDLE)> closed(found, &::FindClose);
  do {
    const std::wstring_view name = entry.cFileName;
    if (name != L"." && name != L"..") names.emplace_back(name);
  } while (::FindNextFileW(found, &entry));
  return ::GetLastError() == ERROR_NO_MORE_FILES ? Failure{} : failed("FindNextFileW");
}

TENON_INLINE std::string text_of(PSID sid) {
  char* text = nullptr;
  if (!sid || !::ConvertSidToStringSidA(sid, &text)) return "unknown";
  const std::unique_ptr<char, HLOCAL(WINAPI*)(HLOCAL)> freed(text, &::LocalFree);
  return text;
}

/// The user of this process, in `room`; null: GetLastError() has the reason.
TENON_INLINE PSID user_in(std::span<std::byte> room) {
  HANDLE token = nullptr;
  if (!::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &token)) return nullptr;
  const Opened process(token);
  DWORD size = 0;
  if (!::GetTokenInformation(token, TokenUser, room.data(), static_cast<DWORD>(room.size()), &size)) return nullptr;
  return reinterpret_cast<const TOKEN_USER*>(room.data())->User.Sid;
}
/// For user_in().
struct alignas(TOKEN_USER) UserRoom : std::array<std::byte, sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE> {};

TENON_INLINE bool is_known(PSID sid, WELL_KNOWN_SID_TYPE known) { return sid && ::IsWellKnownSid(sid, known); }

/// Whether an entry of an access list lets others than `owner`, `user`, the system and its administrators write.
TENON_INLINE bool lets_others_write(const EXPLICIT_ACCESS_W& entry, PSID owner, PSID user) {
  constexpr DWORD kWrites = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER |
                            GENERIC_WRITE | GENERIC_ALL;
  if (entry.grfAccessMode != GRANT_ACCESS && entry.grfAccessMode != SET_ACCESS) return false;
  if ((entry.grfAccessPermissions & kWrites) == 0 || (entry.grfInheritance & INHERIT_ONLY_ACE) != 0) return false;
  if (entry.Trustee.TrusteeForm != TRUSTEE_IS_SID) return true;
  PSID sid = reinterpret_cast<PSID>(entry.Trustee.ptstrName);
  return !(owner && ::EqualSid(sid, owner)) && !::EqualSid(sid, user) && !is_known(sid, WinLocalSystemSid) &&
         !is_known(sid, WinBuiltinAdministratorsSid) && !is_known(sid, WinCreatorOwnerSid);
}

/// An entry of SYSTEM_HANDLE_INFORMATION_EX, which windows.h lacks: that is two numbers, the first of which counts the entries behind it.
struct ListedHandle {
  void* object;
  std::uintptr_t process, handle;
  std::uint32_t access;
  std::uint16_t back_trace, type;
  std::uint32_t attributes, reserved;
};
static_assert(sizeof(ListedHandle) == 40);

/// The handles of this process among those of the system, by one call; 0 where the system does not list them. Asking for each number that a
/// handle may have takes seconds under Wine, which goes to its server for each.
TENON_INLINE std::size_t count_listed_handles() {
  using Query = LONG(WINAPI*)(int, void*, ULONG, ULONG*);
  constexpr int kExtendedHandles = 64;                       // SystemExtendedHandleInformation
  constexpr auto kTooShort = static_cast<LONG>(0xC0000004);  // STATUS_INFO_LENGTH_MISMATCH
  const HMODULE library = ::GetModuleHandleW(L"ntdll.dll");
  const auto query = reinterpret_cast<Query>(
      reinterpret_cast<void*>(library ? ::GetProcAddress(library, "NtQuerySystemInformation") : nullptr));
  constexpr std::size_t kHead = 2 * sizeof(std::uintptr_t);
  for (std::size_t entries = 4096; query && entries <= 1u << 20; entries *= 2) {
    std::vector<std::byte> room(kHead + entries * sizeof(ListedHandle));
    ULONG written = 0;
    const LONG status = query(kExtendedHandles, room.data(), static_cast<ULONG>(room.size()), &written);
    if (status == kTooShort) continue;
    if (status < 0) break;
    const auto listed = *reinterpret_cast<const std::uintptr_t*>(room.data());
    const auto* const first = reinterpret_cast<const ListedHandle*>(room.data() + kHead);
    return static_cast<std::size_t>(
        std::count_if(first, first + std::min<std::size_t>(listed, entries),
                      [self = ::GetCurrentProcessId()](const ListedHandle& each) { return each.process == self; }));
  }
  return 0;
}

}  // namespace detail

TENON_INLINE std::string message_of(int error) { return std::system_category().message(error); }
TENON_INLINE std::error_code error_code_of(const Failure& failure) { return {failure.error, std::system_category()}; }
TENON_INLINE Code code_of(int error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:
    case ERROR_DIRECTORY:
      return Code::kNotFound;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
      return Code::kPermissionDenied;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_TOO_MANY_OPEN_FILES:
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

TENON_INLINE Failure status_of(const std::filesystem::path& path, FileStatus& status) {
  return detail::status_at(path.native(), Links::kFollow, status);
}
TENON_INLINE Failure status_of(int fd, FileStatus& status) {
  const HANDLE handle = detail::handle_of(fd);
  if (handle == INVALID_HANDLE_VALUE) return {"_get_osfhandle", ERROR_INVALID_HANDLE};
  return detail::status_from(handle, status);
}
TENON_INLINE Failure status_in(int folder, const std::filesystem::path& name, Links links, FileStatus& status) {
  return detail::status_at(detail::path_in(folder, name), links, status);
}

TENON_INLINE Failure trust_of(int fd, FileTrust& trust) {
  using Freed = std::unique_ptr<void, HLOCAL(WINAPI*)(HLOCAL)>;
  PSID owner = nullptr;
  PACL rights = nullptr;
  PSECURITY_DESCRIPTOR all = nullptr;
  DWORD error =
      ::GetSecurityInfo(detail::handle_of(fd), SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                        &owner, nullptr, &rights, nullptr, &all);
  if (error != ERROR_SUCCESS) return {"GetSecurityInfo", static_cast<int>(error)};
  const Freed held(all, &::LocalFree);
  detail::UserRoom room{};
  const PSID user = detail::user_in(room);
  if (!user) return detail::failed("GetTokenInformation");
  // What an administrator makes belongs to the group, as Windows is set up.
  trust.is_own = owner && (::EqualSid(owner, user) || detail::is_known(owner, WinBuiltinAdministratorsSid));
  trust.owner = detail::text_of(owner);
  trust.user = detail::text_of(user);
  trust.others_may_write = rights == nullptr;  // No list: everyone has all rights.
  if (!rights) return {};
  ULONG count = 0;
  PEXPLICIT_ACCESS_W entries = nullptr;
  error = ::GetExplicitEntriesFromAclW(rights, &count, &entries);
  if (error != ERROR_SUCCESS) return {"GetExplicitEntriesFromAclW", static_cast<int>(error)};
  const Freed listed(entries, &::LocalFree);
  trust.others_may_write = std::any_of(entries, entries + count, [owner, user](const EXPLICIT_ACCESS_W& entry) {
    return detail::lets_others_write(entry, owner, user);
  });
  return {};
}

TENON_INLINE Failure open_file(int folder, const std::filesystem::path& name, Links links, UniqueFd& opened) {
  const std::wstring path = detail::path_in(folder, name);
  detail::Opened file(detail::open(path, GENERIC_READ, detail::link_flags(links)));
  if (const Failure failure = detail::to_descriptor(file, _O_RDONLY, opened)) return failure;
  FileStatus status;
  if (links == Links::kRefuse && !status_of(opened.get(), status) && status.type == FileType::kUnknown) {
    opened.reset();
    return {"CreateFileW", ERROR_CANT_ACCESS_FILE};
  }
  return {};
}
TENON_INLINE Failure open_to_write(const std::filesystem::path& path, UniqueFd& opened) {
  detail::Opened file(detail::open(path.native(), GENERIC_READ | GENERIC_WRITE, 0));
  return detail::to_descriptor(file, _O_RDWR, opened);
}
TENON_INLINE Failure open_to_grow(const std::filesystem::path& path, unsigned /*mode*/, bool at_end, UniqueFd& opened) {
  detail::Opened file(::CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, detail::kShareAll, nullptr, OPEN_ALWAYS,
                                    FILE_ATTRIBUTE_NORMAL, nullptr));
  return detail::to_descriptor(file, _O_RDWR | (at_end ? _O_APPEND : 0), opened);
}
TENON_INLINE Failure open_folder(const std::filesystem::path& path, UniqueFd& opened) {
  if (path.empty()) return {"CreateFileW", ERROR_PATH_NOT_FOUND};
  detail::Opened folder(detail::open(path.native(), GENERIC_READ, FILE_FLAG_BACKUP_SEMANTICS));
  if (!folder) return detail::failed("CreateFileW");
  FileStatus status;
  if (const Failure failure = detail::status_from(folder.get(), status)) return failure;
  if (status.type != FileType::kDirectory) return {"CreateFileW", ERROR_DIRECTORY};
  return detail::to_descriptor(folder, _O_RDONLY, opened);
}
TENON_INLINE Failure make_private_folder(const std::filesystem::path& path) {
  // All rights for this user, the system and its administrators, for what is made in it too; none from the folder above.
  detail::UserRoom room{};
  const PSID user = detail::user_in(room);
  if (!user) return detail::failed("GetTokenInformation");
  const std::string list = "D:P(A;OICI;FA;;;" + detail::text_of(user) + ")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
  PSECURITY_DESCRIPTOR rights = nullptr;
  if (!::ConvertStringSecurityDescriptorToSecurityDescriptorA(list.c_str(), SDDL_REVISION_1, &rights, nullptr))
    return detail::failed("ConvertStringSecurityDescriptorToSecurityDescriptorA");
  const std::unique_ptr<void, HLOCAL(WINAPI*)(HLOCAL)> freed(rights, &::LocalFree);
  SECURITY_ATTRIBUTES attributes{sizeof attributes, rights, FALSE};
  return ::CreateDirectoryW(path.c_str(), &attributes) ? Failure{} : detail::failed("CreateDirectoryW");
}
TENON_INLINE Failure make_file(int folder, const std::filesystem::path& name, unsigned /*mode*/, UniqueFd& made) {
  const std::wstring path = detail::path_in(folder, name);
  // DELETE and FILE_SHARE_DELETE: the file is renamed and removed while it is open.
  detail::Opened file(::CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, detail::kShareAll, nullptr,
                                    CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
  return detail::to_descriptor(file, _O_RDWR, made);
}
TENON_INLINE bool exists(const Failure& failure) noexcept {
  return failure.error == ERROR_FILE_EXISTS || failure.error == ERROR_ALREADY_EXISTS;
}

TENON_INLINE Lock try_lock(int fd) noexcept {
  OVERLAPPED place = detail::lock_place();
  if (::LockFileEx(detail::handle_of(fd), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place))
    return Lock::kTaken;
  const DWORD error = ::GetLastError();
  return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? Lock::kHeldByAnother : Lock::kUnsupported;
}
TENON_INLINE Failure read_at(int fd, void* data, std::size_t size, std::uint64_t offset, std::size_t& count) {
  OVERLAPPED place = detail::place_of(offset);
  DWORD read = 0;
  const bool done = ::ReadFile(detail::handle_of(fd), data, detail::one_call(size), &read, &place);
  if (!done && ::GetLastError() != ERROR_HANDLE_EOF) return detail::failed("ReadFile");
  count = read;
  return {};
}
TENON_INLINE Failure write_at(int fd, const void* data, std::size_t size, std::uint64_t offset, std::size_t& count) {
  OVERLAPPED place = detail::place_of(offset);
  DWORD written = 0;
  if (!::WriteFile(detail::handle_of(fd), data, detail::one_call(size), &written, &place))
    return detail::failed("WriteFile");
  count = written;
  return {};
}
TENON_INLINE Failure shorten(int fd, std::uint64_t size) noexcept {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  return ::SetFileInformationByHandle(detail::handle_of(fd), FileEndOfFileInfo, &end, sizeof end)
             ? Failure{}
             : detail::failed("SetFileInformationByHandle");
}
TENON_INLINE Failure synchronise(int fd) {
  return ::FlushFileBuffers(detail::handle_of(fd)) ? Failure{} : detail::failed("FlushFileBuffers");
}
/// Nothing to do: the file systems of Windows keep a journal of names, and have no call for it.
TENON_INLINE void synchronise_folder_of(int /*folder*/, const std::filesystem::path& /*name*/) {}
/// Nothing to do: errors come from WriteFile and FlushFileBuffers.
TENON_INLINE Failure close_copy(int /*fd*/) { return {}; }
TENON_INLINE Failure rename_in(int folder, const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::wstring before = detail::path_in(folder, from), after = detail::path_in(folder, to);
  if (detail::replace_open_file(before, after)) return {};
  return ::MoveFileExW(before.c_str(), after.c_str(), MOVEFILE_REPLACE_EXISTING) ? Failure{}
                                                                                 : detail::failed("MoveFileExW");
}
TENON_INLINE bool remove_in(int folder, const std::filesystem::path& name) noexcept {
  try {
    return ::DeleteFileW(detail::path_in(folder, name).c_str());
  } catch (const std::bad_alloc&) {
    return false;
  }
}
TENON_INLINE void mark_used(int fd) noexcept { mark_used_in(fd, {}); }
TENON_INLINE void mark_used_in(int folder, const std::filesystem::path& name) noexcept {
  try {
    const detail::Opened file(detail::open(detail::path_in(folder, name), FILE_WRITE_ATTRIBUTES, 0));
    if (file) detail::mark_used(file.get());
  } catch (const std::bad_alloc&) {
    // The entry seems older than it is: it is removed earlier.
  }
}

TENON_INLINE Failure names_in(const std::filesystem::path& folder, std::vector<std::filesystem::path>& names) {
  return detail::read_names(folder.native(), names);
}
TENON_INLINE Failure names_in(int folder, std::vector<std::filesystem::path>& names) {
  const std::wstring path = detail::path_in(folder, {});
  return path.empty() ? detail::failed("GetFinalPathNameByHandleW") : detail::read_names(path, names);
}

TENON_INLINE void remove_by_signal(const char* path) noexcept {
  wchar_t wide[kMaxPath];
  if (::MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, static_cast<int>(kMaxPath)) > 0) ::DeleteFileW(wide);
}

TENON_INLINE bool random_bits(std::uint64_t& bits) noexcept { return ::RtlGenRandom(&bits, sizeof bits); }
TENON_INLINE std::uint64_t process_id() noexcept { return ::GetCurrentProcessId(); }
TENON_INLINE std::size_t open_descriptor_count() {
  DWORD count = 0;
  if (::GetProcessHandleCount(::GetCurrentProcess(), &count) && count > 0) return count;
  return detail::count_listed_handles();  // Wine 8 counts none.
}
TENON_INLINE std::uint64_t machine_memory_bytes() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
