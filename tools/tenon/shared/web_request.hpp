// SPDX-License-Identifier: Apache-2.0
// Requests of HTTP, as the tool's small server reads them: from bytes to a request, or to the status that refuses them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::tool {

/// What the server looks at of one request of HTTP/1.0 or HTTP/1.1.
struct WebRequest {
  std::string method, path;  ///< The path without what follows a "?".
  std::string token;         ///< The value of `token` behind the "?"; the last one where there are several.
  std::string host;          ///< As the header Host has it: "localhost:8080".
  std::string body;
};

/// Reads what a client has sent so far. What can be read in two ways is refused: two headers Host or Content-Length, a header without a
/// name or with space before its colon, a line that goes on in the next one, control characters, and lengths that are not numbers.
/// @param received  From the request's first byte on; bytes behind a whole request are ignored.
/// @param request   Set when a request is whole.
/// @return nothing: more must come; 200: it is whole; else the status of the answer: 400, 413 for a body of more than 64 KiB, 431 for
///         more than 16 KiB before it. More bytes do not change a status.
/// @thread any. @cost one pass over the headers. Never throws but std::bad_alloc.
std::optional<int> read_request(std::string_view received, WebRequest* request);

/// Whether a header Host names a server that is there for this machine alone: as an address, "localhost" or `own`. Another name that
/// leads here is a site's that wants to read what it must not.
/// @param host  Empty: a client of HTTP/1.0, which no browser is. @param own  The name that the server was told.
bool names_this_machine(std::string_view host, std::string_view own);

}  // namespace tenon::tool
