import { useState } from 'react';
import { api } from './api.ts';
import { useChange } from './queries.ts';
import { type Endpoint, EndpointFields, formOf, settingsOf } from './endpoint-form.tsx';
import { useSession } from './session.tsx';
import { PageForm } from './parts/page-form.tsx';

/** What an administrator may change of an endpoint. */
export function EndpointSettings({ endpoint }: { endpoint: Endpoint }) {
  const { may } = useSession();
  const [form, setForm] = useState(formOf(endpoint));
  const save = useChange(
    ['/api/endpoints'],
    () =>
      api.patch('/api/endpoints/{endpointId}', {
        path: { endpointId: endpoint.id },
        body: settingsOf(form),
      }),
    (saved) => setForm(formOf(saved)),
  );
  return (
    <PageForm act={save} disabled={!may('administrator', endpoint.workspaceId)}>
      <EndpointFields
        workspaceId={endpoint.workspaceId}
        form={form}
        set={setForm}
        error={save.error}
        known={endpoint}
      />
    </PageForm>
  );
}
