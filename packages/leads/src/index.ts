export type {
  ApplySubmissions,
  LeadState,
  Provenance,
  ResolveCustomFields,
  UtmTouch,
} from './lead-state.ts';
