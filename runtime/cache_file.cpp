// SPDX-License-Identifier: Apache-2.0
// Cache entries on disk: a header with hashes of everything, written beside its place and renamed into it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/mapped_file.hpp>
#include "cache_internal.hpp"

namespace tenon {
inline namespace v1 {
namespace cache {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'C', 'C', 'H'};
constexpr std::uint32_t kFormat = 2;
constexpr std::uint32_t kEncrypted = 1, kWeightless = 2;
/// The payload starts on a page, so that devices find what they aligned aligned.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostInfoBytes = 1 << 20;
constexpr std::string_view kTemporary = ".part";
/// Readable by others, written by nobody: entries are mapped and used in place.
constexpr unsigned kMode = 0440;

/// Little-endian; 112 bytes.
struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t flags;
  std::uint64_t created_ns;
  std::uint64_t info_bytes;  ///< Texts and files, right after the header.
  std::uint64_t payload_offset, payload_bytes;
  store::ContentHash info, payload;
  std::uint64_t reserved[2];
  store::ContentHash own;  ///< Of the header before this field.
};
static_assert(sizeof(Header) == 112);

[[noreturn]] void damaged(const fs::path& file, const std::string& what) {
  throw Error(Code::kDataLoss, "cache entry \"" + file.string() + "\" is damaged, truncated or another's: " + what);
}

/// What a device exports goes to the file at once, hashed on its way.
class PayloadBuffer final : public std::streambuf {
 public:
  PayloadBuffer(NewFile& file, std::uint64_t offset) : file_(file), offset_(offset), begin_(offset) {}
  std::uint64_t size_bytes() const { return offset_ - begin_; }
  store::ContentHash hash() const { return hasher_.result(); }
  /// What the file system said; streams swallow exceptions of their buffers.
  std::exception_ptr failure() const { return failure_; }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    if (failure_) return 0;
    try {
      file_.write_at(data, static_cast<std::size_t>(size), offset_);
    } catch (...) {
      failure_ = std::current_exception();
      return 0;
    }
    hasher_.add(data, static_cast<std::size_t>(size));
    offset_ += static_cast<std::uint64_t>(size);
    return size;
  }
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    return offset == 0 && from == std::ios_base::cur ? pos_type(off_type(size_bytes())) : pos_type(off_type(-1));
  }

 private:
  NewFile& file_;
  std::uint64_t offset_, begin_;
  store::ContentHasher hasher_;
  std::exception_ptr failure_;
};

std::string pack(const EntryInfo& info) {
  std::string bytes;
  const auto number = [&](std::uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto text = [&](const std::string& value) {
    number(value.size());
    bytes += value;
  };
  text(info.key);
  text(info.identity);
  text(info.model);
  text(info.device);
  number(info.files.size());
  for (const FileIdentity& file : info.files) {
    text(file.path);
    number(file.size_bytes);
    number(static_cast<std::uint64_t>(file.modified_ns));
    number(static_cast<std::uint64_t>(file.changed_ns));
  }
  return bytes;
}

EntryInfo unpack(std::string_view bytes, const fs::path& file) {
  const auto take = [&](std::uint64_t size) {
    if (size > bytes.size()) damaged(file, "its description ends early");
    const std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return part;
  };
  const auto number = [&] {
    std::uint64_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  };
  const auto text = [&] { return std::string(take(number())); };
  EntryInfo info;
  info.key = text();
  info.identity = text();
  info.model = text();
  info.device = text();
  for (std::uint64_t count = number(); count > 0; --count) {
    FileIdentity identity;
    identity.path = text();
    identity.size_bytes = number();
    identity.modified_ns = static_cast<std::int64_t>(number());
    identity.changed_ns = static_cast<std::int64_t>(number());
    info.files.push_back(std::move(identity));
  }
  return info;
}

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

void FileIdentity::add_to(store::ContentHasher& hasher) const {
  hasher.add(path);
  for (const std::uint64_t number :
       {size_bytes, static_cast<std::uint64_t>(modified_ns), static_cast<std::uint64_t>(changed_ns)})
    hasher.add(number);
}

std::string absolute(const fs::path& path) {
  std::error_code ignored;
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  return (canonical.empty() ? path : canonical).string();
}

std::optional<FileIdentity> identify(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{cache::absolute(path), static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
                      nanoseconds(status.st_ctim)};
}

bool is_temporary(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::size_t kEntryName = 32 + std::string_view(kExtension).size();
  return file.extension() == kTemporary && name.size() > kEntryName && is_entry_name(name.substr(0, kEntryName));
}

bool is_entry_name(const fs::path& file) {
  const std::string name = file.stem().string();
  return file.extension() == kExtension && name.size() == 32 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Entry read_entry(const fs::path& file, bool check_payload) {
  const Tensor bytes = map_file(file);
  const std::uint64_t size = bytes.size_bytes();
  Header header;
  if (size < sizeof header) damaged(file, "it has " + std::to_string(size) + " bytes, less than a header");
  const char* start = static_cast<const char*>(bytes.data());
  std::memcpy(&header, start, sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) damaged(file, "it does not start as one");
  if (header.format != kFormat)
    throw Error(Code::kFailedPrecondition, "cache entry \"" + file.string() + "\" has format " +
                                               std::to_string(header.format) + ", this is " + std::to_string(kFormat));
  if (header.own != store::content_hash(&header, offsetof(Header, own))) damaged(file, "its header has another hash");
  if (header.info_bytes > kMostInfoBytes || header.info_bytes > size - sizeof header ||
      header.payload_offset % kPage != 0 || header.payload_offset != sizeof header + header.info_bytes ||
      header.payload_offset > size || header.payload_bytes != size - header.payload_offset)
    damaged(file, "it has " + std::to_string(size) + " bytes, its header says " +
                      std::to_string(header.payload_offset + header.payload_bytes));
  const std::string_view info(start + sizeof header, header.info_bytes);
  if (header.info != store::content_hash(info.data(), info.size())) damaged(file, "its description has another hash");
  Entry entry;
  entry.info = unpack(info, file);
  if (entry.info.key != file.stem().string())
    damaged(file, "it was made under the name " + entry.info.key + kExtension + " and has been renamed or copied");
  entry.info.created_ns = header.created_ns;
  entry.info.encrypted = header.flags & kEncrypted;
  entry.info.weightless = header.flags & kWeightless;
  if (check_payload && header.payload != store::content_hash(start + header.payload_offset, header.payload_bytes))
    damaged(file, "its payload has another hash than its header names");
  entry.payload = Tensor(TensorInfo{ElementType::kU8, Shape{header.payload_bytes}, {}}, bytes.memory(),
                         bytes.offset() + header.payload_offset, bytes.lease());
  return entry;
}

void write_entry(const fs::path& file, const EntryInfo& info, const std::function<void(std::ostream&)>& write) {
  EntryInfo sealed = info;
  sealed.key = file.stem().string();
  std::string description = pack(sealed);
  // Filled up to the payload, so that every byte before it has a hash.
  description.resize((sizeof(Header) + description.size() + kPage - 1) / kPage * kPage - sizeof(Header));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = kFormat;
  header.flags = (info.encrypted ? kEncrypted : 0) | (info.weightless ? kWeightless : 0);
  header.created_ns = info.created_ns;
  header.info_bytes = description.size();
  header.info = store::content_hash(description.data(), description.size());
  header.payload_offset = sizeof header + description.size();
  NewFile made(file, kMode);
  PayloadBuffer buffer(made, header.payload_offset);
  std::ostream stream(&buffer);
  try {
    write(stream);
  } catch (...) {
    // The disk's own words say more than the device's, which only saw a stream fail.
    if (buffer.failure()) std::rethrow_exception(buffer.failure());
    throw;
  }
  if (buffer.failure()) std::rethrow_exception(buffer.failure());
  header.payload_bytes = buffer.size_bytes();
  header.payload = buffer.hash();
  header.own = store::content_hash(&header, offsetof(Header, own));
  made.write_at(description.data(), description.size(), sizeof header);
  made.write_at(&header, sizeof header, 0);
  // No fsync: what a crash leaves behind has another hash than its header, which is a miss.
  made.commit();
}

void touch_entry(const fs::path& file) noexcept {
  // The access time alone: the file system itself keeps it only coarsely or not at all.
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
}

void evict(const fs::path& folder, std::uint64_t limit_bytes, const fs::path& keep) {
  struct Candidate {
    std::int64_t used_ns;
    std::uint64_t size;
    fs::path file;
  };
  std::vector<Candidate> all;
  std::uint64_t total = 0;
  std::error_code error;
  for (const fs::path& file : list_folder(folder, error)) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (is_temporary(file)) {
      NewFile::remove_if_abandoned(file);
      continue;
    }
    if (!is_entry_name(file)) continue;
    total += static_cast<std::uint64_t>(status.st_size);
    if (file != keep) all.push_back({nanoseconds(status.st_atim), static_cast<std::uint64_t>(status.st_size), file});
  }
  if (limit_bytes == 0 || total <= limit_bytes) return;
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.used_ns < b.used_ns; });
  for (const Candidate& candidate : all) {
    if (total <= limit_bytes) break;
    // Whoever has it mapped keeps it: the bytes go with the last mapping.
    if (::unlink(candidate.file.c_str()) == 0) total -= candidate.size;
  }
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
