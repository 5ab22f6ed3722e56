export {
  DESTINATION_KINDS,
  DESTINATIONS,
  type Destination,
  type DestinationKind,
} from './destinations/destination.ts';
export { HUBSPOT_PER_SECOND, HUBSPOT_URL } from './destinations/hubspot.ts';
export { createGuard, type Guard, type UrlFault } from './guard.ts';
export { backoffMs, DISABLED_AFTER_MS, pauseMs, RateWindow } from './pacing.ts';
export { createSender, type Sender } from './sender.ts';
export { allowNetworksSetting } from './settings.ts';
export { messageId, newSecret } from './signature.ts';
export { keptAnswer, verdictOn, type SendResult, type Verdict } from './verdict.ts';
