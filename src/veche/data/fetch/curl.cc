// The module veche_curl: downloads by libcurl, digests by OpenSSL. A module because their thirty
// libraries would slow the start of every command.
#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <fstream>
#include <memory>
#include <system_error>

#include "veche/base/module_api.h"
#include "veche/data/fetch/transfer.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr long kConnectSeconds = 20;
constexpr long kSilentSeconds = 60;  // a connection is dead after this long below one byte per second

struct State {
  int file = -1;
  std::uint64_t before = 0;  // bytes present before this transfer
  const TransferProgress* progress = nullptr;
  std::exception_ptr error;
};

std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* where) {
  const auto* state = static_cast<State*>(where);
  std::size_t done = 0;
  while (done < size * count) {
    const ssize_t written = ::write(state->file, bytes + done, size * count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CURL_WRITEFUNC_ERROR;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

// Exceptions must not pass through libcurl.
int on_progress(void* where, curl_off_t all, curl_off_t now, curl_off_t, curl_off_t) {
  auto* state = static_cast<State*>(where);
  try {
    const auto total = all > 0 ? state->before + static_cast<std::uint64_t>(all) : 0;
    (*state->progress)(state->before + static_cast<std::uint64_t>(now), total);
  } catch (...) {
    state->error = std::current_exception();
    return 1;
  }
  return 0;
}

Transfer::Outcome outcome_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Transfer::Outcome::done;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      return Transfer::Outcome::no_network;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_OPERATION_TIMEDOUT:
      return Transfer::Outcome::cut_off;
    default:
      return Transfer::Outcome::refused;
  }
}

struct Attempt {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string why;
};

Attempt attempt(const std::string& url, const std::filesystem::path& to, const TransferProgress& progress) {
  State state;
  state.progress = &progress;
  state.file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (state.file < 0)
    throw RunError(
        fmt::format("'{}' cannot be written ({})", to.string(), std::generic_category().message(errno)));
  struct stat facts {};
  if (::fstat(state.file, &facts) == 0) state.before = static_cast<std::uint64_t>(facts.st_size);

  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  std::array<char, CURL_ERROR_SIZE> text{};
  curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(handle.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, text.data());
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &state);
  curl_easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &state);
  curl_easy_setopt(handle.get(), CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(state.before));
  Attempt result;
  result.code = curl_easy_perform(handle.get());
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &result.status);
  result.why = text.front() != '\0' ? text.data() : curl_easy_strerror(result.code);
  ::close(state.file);
  if (state.error) std::rethrow_exception(state.error);
  return result;
}

}  // namespace

extern "C" VECHE_MODULE_API void veche_download(const std::string& url, const std::filesystem::path& to,
                                                const TransferProgress& progress, Transfer& result) {
  constexpr long kNothingLeft = 416;
  Attempt done = attempt(url, to, progress);
  if (done.status == kNothingLeft) done.code = CURLE_OK;  // the file was complete; the digest decides
  if (done.code == CURLE_RANGE_ERROR) {                   // the server cannot resume
    std::filesystem::remove(to);
    done = attempt(url, to, progress);
  }
  result.outcome = outcome_of(done.code);
  std::error_code ignored;
  if (result.outcome == Transfer::Outcome::cut_off && std::filesystem::file_size(to, ignored) == 0)
    result.outcome = Transfer::Outcome::no_network;  // no connection was established
  result.why = done.why;
}

extern "C" VECHE_MODULE_API void veche_md5_of_file(const std::filesystem::path& file, std::string& result) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_md5(), nullptr);
  std::ifstream in(file, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0)
    EVP_DigestUpdate(digest.get(), buffer.data(), static_cast<std::size_t>(in.gcount()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned length = 0;
  EVP_DigestFinal_ex(digest.get(), value.data(), &length);
  result = fmt::format("{:02x}", fmt::join(value.begin(), value.begin() + length, ""));
}

}  // namespace veche
