// SPDX-License-Identifier: Apache-2.0
// Cache entries on disk: a header with hashes of everything, written beside its place and renamed into it.
#include <ostream>
#include <streambuf>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/sealed_header.hpp>
#include <tenon/store/table.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kFormat = 3;
constexpr std::uint32_t kEncrypted = 1, kWeightless = 2;
/// The payload starts on a page, so that the alignment that a device chose within it is kept.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostInfoBytes = 1 << 20;

/// The start's `minor` are flags, its `content` is the payload's hash.
struct Fields {
  std::uint64_t created_ns;
  std::uint64_t info_bytes;  ///< Texts and files, right after the header; behind them the payload.
  store::ContentHash info;
};
using Header = store::Sealed<Fields>;
static_assert(sizeof(Header) == 88);

store::Format format_of(const fs::path& file) {
  const std::string name = "cache entry \"" + file.string() + "\"";
  store::Format format{.magic = "TENONCCH", .version = kFormat, .damaged = [name](const std::string& what) {
                         throw Error(Code::kDataLoss, name + " is damaged, truncated or another's: " + what);
                       }};
  format.other_version = [name](const store::SealStart& found) {
    throw Error(Code::kFailedPrecondition,
                name + " has format " + std::to_string(found.version) + ", this is " + std::to_string(kFormat));
  };
  return format;
}

/// A stream buffer that writes a device's export to the file at once, and hashes it on the way.
class PayloadBuffer final : public std::streambuf {
 public:
  PayloadBuffer(NewFile& file, std::uint64_t offset) : file_(file), offset_(offset), begin_(offset) {}
  std::uint64_t size_bytes() const { return offset_ - begin_; }
  store::ContentHash hash() const { return hasher_.result(); }
  /// The error of the file system, kept here because streams swallow exceptions of their buffers.
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
  store::TableWriter table;
  for (const std::string* text : {&info.key, &info.identity, &info.model, &info.device}) table.text(*text);
  table.number(info.files.size());
  for (const FileIdentity& file : info.files) {
    table.text(file.path);
    table.number(file.size_bytes);
    table.number(static_cast<std::uint64_t>(file.modified_ns));
    table.number(static_cast<std::uint64_t>(file.changed_ns));
  }
  return std::move(table).bytes();
}

EntryInfo unpack(std::string_view bytes, const store::Damaged& damaged) {
  store::TableReader table(bytes, damaged, {.ends_early = "its description ends early"});
  EntryInfo info;
  for (std::string* text : {&info.key, &info.identity, &info.model, &info.device}) *text = table.text();
  for (std::uint64_t left = table.count(); left > 0; --left) {
    FileIdentity identity;
    identity.path = table.text();
    identity.size_bytes = table.number();
    identity.modified_ns = static_cast<std::int64_t>(table.number());
    identity.changed_ns = static_cast<std::int64_t>(table.number());
    info.files.push_back(std::move(identity));
  }
  return info;
}

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
  platform::FileStatus status;
  if (platform::status_of(path, status) || status.type != platform::FileType::kRegular) return std::nullopt;
  return FileIdentity{cache::absolute(path), status.size_bytes, status.modified_ns, status.changed_ns};
}

Entry read_entry(const fs::path& file, bool check_payload) {
  const Tensor bytes = map_file(file);
  const std::string_view all = store::bytes_of(bytes);
  const store::Format format = format_of(file);
  const Header header = store::unseal<Fields>(all, format);
  store::check_total(header.start, sizeof header, all.size(), format.damaged);
  const store::Section description{sizeof header, header.fields.info_bytes};
  const std::uint64_t payload = sizeof header + header.fields.info_bytes;
  if (header.start.total != all.size() || header.fields.info_bytes > kMostInfoBytes || payload % kPage != 0 ||
      !store::lies_within(description, sizeof header, all.size()))
    store::say_damaged(format.damaged, "it has " + std::to_string(all.size()) + " bytes, its header says " +
                                           std::to_string(header.start.total));
  const std::string_view info = description.in(all);
  if (header.fields.info != store::content_hash(info.data(), info.size()))
    store::say_damaged(format.damaged, "its description has another hash");
  Entry entry;
  entry.info = unpack(info, format.damaged);
  if (entry.info.key != file.stem().string())
    store::say_damaged(format.damaged, "it was made under the name " + entry.info.key + std::string(kRules.suffix) +
                                           " and has been renamed or copied");
  entry.info.created_ns = header.fields.created_ns;
  entry.info.encrypted = header.start.minor & kEncrypted;
  entry.info.weightless = header.start.minor & kWeightless;
  if (check_payload) store::check_content(header.start, payload, all, format.damaged);
  entry.payload = store::part_of(bytes, payload, all.size() - payload);
  return entry;
}

void write_entry(const fs::path& file, const EntryInfo& info, const std::function<void(std::ostream&)>& write) {
  EntryInfo sealed = info;
  sealed.key = file.stem().string();
  std::string description = pack(sealed);
  Header header{};
  // Filled up to the payload, so that every byte before it has a hash.
  const std::uint64_t payload = store::aligned(sizeof header + description.size(), kPage);
  description.resize(payload - sizeof header);
  header.start.minor = (info.encrypted ? kEncrypted : 0) | (info.weightless ? kWeightless : 0);
  header.fields = {info.created_ns, description.size(), store::content_hash(description.data(), description.size())};
  // No fsync: if a crash of the machine leaves a damaged file behind, its hash differs from its header, which is a miss.
  NewFile made(file, kRules.entry_mode, Durability::kProcess);
  PayloadBuffer buffer(made, payload);
  std::ostream stream(&buffer);
  try {
    write(stream);
  } catch (...) {
    // The error of the file system says more than the device's error, which only says that a stream failed.
    if (buffer.failure()) std::rethrow_exception(buffer.failure());
    throw;
  }
  if (buffer.failure()) std::rethrow_exception(buffer.failure());
  header.start.total = payload + buffer.size_bytes();
  header.start.content = buffer.hash();
  store::seal(header, format_of(file));
  made.write_at(description.data(), description.size(), sizeof header);
  made.write_at(&header, sizeof header, 0);
  made.commit();
}

void touch_entry(const fs::path& file) {
  store::CacheFolder(file.parent_path(), kRules).touch(file.filename().string());
}

void evict(const fs::path& folder, std::uint64_t limit_bytes, const fs::path& keep) {
  const store::CacheFolder entries(folder, kRules);
  entries.remove_abandoned();
  if (limit_bytes > 0) entries.evict(limit_bytes, keep.filename().string());
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
