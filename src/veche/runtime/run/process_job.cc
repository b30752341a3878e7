#include "veche/runtime/run/process_job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/comm/mpi/launch.h"
#include "veche/errors.h"
#include "veche/job.h"

namespace veche {
namespace {

struct Joined {
  std::unique_ptr<Job> job;
  bool asked = false;  // whether the process has a job
};

Joined& joined() {
  static Joined joined;
  return joined;
}

nlohmann::json bytes(const std::string& text) { return nlohmann::json::binary({text.begin(), text.end()}); }
std::string text(const nlohmann::json& bytes) {
  const auto& binary = bytes.get_binary();
  return {binary.begin(), binary.end()};
}

// Certificates are not UTF-8: CBOR keeps them as they are, and hexadecimal digits fit any file.
std::string as_member_text(const grid::FixedMembers& member) {
  nlohmann::json json = {{"root", bytes(member.root)},
                         {"addresses", member.addresses},
                         {"rank", member.rank},
                         {"key", member.key},
                         {"listening", member.listening}};
  for (const std::string& each : member.warrants) json["warrants"].push_back(bytes(each));
  for (const std::string& each : member.certificates) json["certificates"].push_back(bytes(each));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const std::uint8_t byte : nlohmann::json::to_cbor(json))
    digits += {kDigits[byte >> 4], kDigits[byte & 15]};
  return digits;
}

grid::FixedMembers read_member(const std::string& member) {
  try {
    std::vector<std::uint8_t> packed;
    for (std::size_t at = 0; at + 1 < member.size(); at += 2)
      packed.push_back(static_cast<std::uint8_t>(std::stoi(member.substr(at, 2), nullptr, 16)));
    const nlohmann::json json = nlohmann::json::from_cbor(packed);
    grid::FixedMembers read;
    read.root = text(json.at("root"));
    read.addresses = json.at("addresses");
    read.rank = json.at("rank");
    read.key = json.at("key");
    read.listening = json.at("listening");
    for (const nlohmann::json& each : json.at("warrants")) read.warrants.push_back(text(each));
    for (const nlohmann::json& each : json.at("certificates")) read.certificates.push_back(text(each));
    return read;
  } catch (const std::exception&) {
    throw RequestError(
        "this is not the text of a member of a local job: start the processes by the launcher");
  }
}

}  // namespace

Job* process_job() {
  Joined& mine = joined();
  if (!mine.asked) mine.job = join_launched_job();
  mine.asked = true;
  return mine.job.get();
}

JobPlace place_in_job() {
  const Job* const job = process_job();
  if (job == nullptr) return {};
  JobPlace place{.rank = job->rank(), .size = job->size(), .local_size = job->ranks_on_this_host()};
  for (int rank = 0; rank < place.rank; ++rank)
    if (job->host_of(rank) == job->host_of(place.rank)) ++place.local_rank;
  return place;
}

std::vector<std::string> make_local_job(int processes) {
  if (processes < 1) throw RequestError("a job has at least one process");
  std::vector<std::string> members;
  for (const grid::FixedMembers& each : grid::fixed_members(processes))
    members.push_back(as_member_text(each));
  return members;
}

int local_job_socket(const std::string& member) { return read_member(member).listening; }

void join_local_job(const std::string& member) {
  Joined& mine = joined();
  if (mine.asked) throw RequestError("this process has a job already: join before anything else");
  mine.job = grid::fixed_job(read_member(member));
  mine.asked = true;
}

}  // namespace veche
