#include "veche/comm/grid/run/console.h"

#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/comm/grid/run/grid_folder.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
std::string coded_answer(bool good, const std::string& text) {
  return Writer().number(static_cast<std::uint8_t>(good)).raw(text).take();
}

std::string ask_member(const std::filesystem::path& folder, const Request& request) {
  if (!std::filesystem::exists(folder)) throw RequestError("there is no folder " + folder.string());
  if (!std::filesystem::exists(folder / "grid"))
    throw RequestError(folder.string() + " is no folder of a run on a grid");
  const GridFolder files(folder);
  const KeyPair key = files.key();
  const auto trust = files.trust();
  const std::string address = files.address();
  if (address.empty())
    throw RequestError("no member runs in " + folder.string() + ": start it with veche grid join --resume " +
                       folder.string());
  OneQuestion question;
  question.addresses = {address};
  question.context = make_context(key, files.certificate(), trust->proofs_of(files.certificate()));
  question.verify = [&](X509* shown, STACK_OF(X509)*) -> std::optional<std::string> {
    if (id_of(shown) != key.id()) return "it is not the member of this folder";
    return {};
  };
  question.service = Service::console;
  question.make = [&](const std::string&, const MemberId&) { return coded(request); };
  const Message answer = ask_once(question);
  const auto letters = answer.as<char>();
  if (letters.empty()) throw RequestError("the member of " + folder.string() + " does not answer");
  const std::string text(letters.begin() + 1, letters.end());
  if (letters.front() == 0) throw RequestError(text);
  return text;
}

}  // namespace veche::grid
