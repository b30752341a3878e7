#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/comm/grid/identity/trust.h"

namespace veche::grid {

// The address that a member publishes in a table kept by untrusted machines: signed by the member,
// and sealed so that only machines with the run's id can read it.
struct AddressRecord {
  std::string certificate, warrant;  // of the signer, and of the signer's signer
  std::int64_t time = 0;             // seconds since 1970
  std::vector<std::string> addresses;
  Signature signature = {};
};
// Without the seal. Throws MalformedMessage.
std::string coded(const AddressRecord& record);
AddressRecord read_address_record(std::string_view text);

std::string seal(const MemberId& run, const AddressRecord& record);
// Returns nullopt if it is not of this run or was changed.
std::optional<AddressRecord> unseal(const MemberId& run, std::string_view sealed);

AddressRecord make_address_record(const MemberId& run, const KeyPair& key, const std::string& certificate,
                                  const std::string& warrant, const std::vector<std::string>& addresses,
                                  Instant now);
// Whether a member of the run signed it recently.
bool is_genuine(const AddressRecord& record, const Trust& trust, Instant now);

}  // namespace veche::grid
