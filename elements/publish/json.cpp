// SPDX-License-Identifier: Apache-2.0
// The sink "json": writes a line for each frame.
#include <tenon/elements/publish/elements.hpp>
#include <tenon/elements/publish/line_file.hpp>
#include <tenon/elements/publisher.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {
namespace {

class JsonSink final : public Publisher {
 public:
  explicit JsonSink(const Parameters& given) : Publisher(given), file_(given.text("path"), given.flag("append")) {}
  void open(std::uint32_t, const StreamInfo&) override { file_.begin(); }
  void interrupt() noexcept override { file_.interrupt(); }
  void resume() override { file_.resume(); }

 private:
  void send(std::uint32_t, std::string line) override { file_.write(line); }

  LineFile file_;
};

}  // namespace

KnownElement json() {
  Description json;
  json.name = "json";
  json.about = "Writes the metadata of each frame as a line of JSON";
  json.role = Role::kSink;
  json.parameters = publisher_parameters({{"path", "A file, a named pipe, or - for standard output", std::string("-")},
                                          {"append", "Appends to the file, instead of replacing it", false}});
  json.is_shared = true;
  json.has_thread = true;
  json.takes = Takes::kBoth;
  json.files = [](const Parameters& given, const Environment&) {
    ElementFiles files;
    if (given.text("path") != "-") files.written = {given.text("path")};
    files.appends = given.flag("append");
    return files;
  };
  return {json,
          [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<JsonSink>(given); }};
}

std::vector<KnownElement> elements() { return {json(), publish()}; }

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
