#include "cli/process/own_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "cli/process/limits.h"
#include "cli/terminal/output.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count > 0) at += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) return;
  }
}

std::string outcome_of(const std::function<Json()>& work) {
  try {
    return Json{{"result", work()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const RequestError& error) {
    return Json{{"wrong_request", error.what()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const std::exception& error) {
    return Json{{"failure", sentence_of(error)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

std::string read_all(int file, pid_t child, const std::atomic<bool>& interrupted) {
  std::string text;
  char part[4096];
  for (bool told = false;;) {
    const ssize_t count = ::read(file, part, sizeof part);
    if (count == 0) return text;
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return text;
    if (interrupted && !told) told = ::kill(child, SIGTERM) == 0;
  }
}

}  // namespace

Json in_process_of_its_own(const std::function<Json()>& work, const std::atomic<bool>& interrupted) {
  flush_output();
  int ends[2];
  if (::pipe(ends) != 0) throw RunError("no more pipes can be opened");
  const pid_t child = ::fork();
  if (child < 0) throw RunError("no more processes can be started");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::close(ends[0]);
    write_all(ends[1], outcome_of(work));
    ::_exit(0);
  }
  ::close(ends[1]);
  const std::string told = read_all(ends[0], child, interrupted);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (told.empty()) throw RunError("the process of a run has ended without a word");
  const Json outcome = Json::parse(told);
  if (outcome.contains("wrong_request")) throw RequestError(outcome.at("wrong_request").get<std::string>());
  if (outcome.contains("failure")) throw RunError(outcome.at("failure").get<std::string>());
  return outcome.at("result");
}

}  // namespace veche::cli
